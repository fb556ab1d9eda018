// 256x256 times 256x256: 8-bit integers, summed in 32 bits.
func.func @matmul_i8_i32(%lhs: tensor<256x256xi8>, %rhs: tensor<256x256xi8>) -> tensor<256x256xi32> {
  %zero = arith.constant 0 : i32
  %product_init_empty = tensor.empty() : tensor<256x256xi32>
  %product_init = linalg.fill ins(%zero : i32) outs(%product_init_empty : tensor<256x256xi32>) -> tensor<256x256xi32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<256x256xi8>, tensor<256x256xi8>) outs(%product_init : tensor<256x256xi32>) -> tensor<256x256xi32>
  return %product : tensor<256x256xi32>
}
