// Three elementwise ops in a row: max(a * b + c, 0).
func.func @elementwise_chain(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %product_empty = tensor.empty() : tensor<1024x1024xf32>
  %product = linalg.mul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%product_empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %sum_empty = tensor.empty() : tensor<1024x1024xf32>
  %sum = linalg.add ins(%product, %c : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%sum_empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %zeros_empty = tensor.empty() : tensor<1024x1024xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%zeros_empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %relu_empty = tensor.empty() : tensor<1024x1024xf32>
  %relu = linalg.max ins(%sum, %zeros : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%relu_empty : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %relu : tensor<1024x1024xf32>
}
