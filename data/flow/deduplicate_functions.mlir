// Two functions with equal bodies, as outlining the same layer twice gives them.
func.func @deduplicate_functions(%a: tensor<6x6xf32>, %b: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %0 = call @layer_0(%a, %b) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %1 = call @layer_1(%0, %b) : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  return %1 : tensor<6x6xf32>
}

func.func private @layer_0(%x: tensor<6x6xf32>, %w: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x6xf32>) -> tensor<6x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x6xf32>, tensor<6x6xf32>) outs(%init : tensor<6x6xf32>) -> tensor<6x6xf32>
  return %y : tensor<6x6xf32>
}

func.func private @layer_1(%x: tensor<6x6xf32>, %w: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x6xf32>) -> tensor<6x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x6xf32>, tensor<6x6xf32>) outs(%init : tensor<6x6xf32>) -> tensor<6x6xf32>
  return %y : tensor<6x6xf32>
}
