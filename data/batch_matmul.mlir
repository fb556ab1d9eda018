// 8 products of 128x128 and 128x128.
func.func @batch_matmul(%lhs: tensor<8x128x128xf32>, %rhs: tensor<8x128x128xf32>) -> tensor<8x128x128xf32> {
  %zero = arith.constant 0.0 : f32
  %init_empty = tensor.empty() : tensor<8x128x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%init_empty : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
  %product = linalg.batch_matmul ins(%lhs, %rhs : tensor<8x128x128xf32>, tensor<8x128x128xf32>) outs(%init : tensor<8x128x128xf32>) -> tensor<8x128x128xf32>
  return %product : tensor<8x128x128xf32>
}
