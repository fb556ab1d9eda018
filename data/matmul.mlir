// 512x512 times 512x512.
func.func @matmul(%lhs: tensor<512x512xf32>, %rhs: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %product_init_empty = tensor.empty() : tensor<512x512xf32>
  %product_init = linalg.fill ins(%zero : f32) outs(%product_init_empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<512x512xf32>, tensor<512x512xf32>) outs(%product_init : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %product : tensor<512x512xf32>
}
