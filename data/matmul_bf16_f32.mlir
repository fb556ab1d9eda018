// 256x256 times 256x256: bfloat16, summed in float32.
func.func @matmul_bf16_f32(%lhs: tensor<256x256xbf16>, %rhs: tensor<256x256xbf16>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %product_init_empty = tensor.empty() : tensor<256x256xf32>
  %product_init = linalg.fill ins(%zero : f32) outs(%product_init_empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<256x256xbf16>, tensor<256x256xbf16>) outs(%product_init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %product : tensor<256x256xf32>
}
