// 8 products of 128x128 and 128x128.
func.func @batch_matmul(%lhs: tensor<8x128x128xf32>, %rhs: tensor<8x128x128xf32>) -> tensor<8x128x128xf32> {
  %zero = arith.constant 0.0 : f32
  %product_init_empty = tensor.empty() : tensor<8x128x128xf32>
  %product_init = linalg.fill ins(%zero : f32) outs(%product_init_empty : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
  %product = linalg.batch_matmul ins(%lhs, %rhs : tensor<8x128x128xf32>, tensor<8x128x128xf32>) outs(%product_init : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
  return %product : tensor<8x128x128xf32>
}
