// 1024x1024 times a vector of 1024.
func.func @matvec(%lhs: tensor<1024x1024xf32>, %rhs: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = arith.constant 0.0 : f32
  %product_init_empty = tensor.empty() : tensor<1024xf32>
  %product_init = linalg.fill ins(%zero : f32) outs(%product_init_empty : tensor<1024xf32>) -> tensor<1024xf32>
  %product = linalg.matvec ins(%lhs, %rhs : tensor<1024x1024xf32>, tensor<1024xf32>) outs(%product_init : tensor<1024xf32>) -> tensor<1024xf32>
  return %product : tensor<1024xf32>
}
