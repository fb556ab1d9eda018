// Three elementwise ops in a row: max(a * b + c, 0).
func.func @elementwise_chain(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty_product = tensor.empty() : tensor<1024x1024xf32>
  %product = linalg.mul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%empty_product : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>

  %empty_sum = tensor.empty() : tensor<1024x1024xf32>
  %sum = linalg.add ins(%product, %c : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%empty_sum : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>

  %empty_zeros = tensor.empty() : tensor<1024x1024xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty_zeros : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %empty_relu = tensor.empty() : tensor<1024x1024xf32>
  %relu = linalg.max ins(%sum, %zeros : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%empty_relu : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %relu : tensor<1024x1024xf32>
}
