// A product with a long reduction.
func.func @split_reduction(%lhs: tensor<12x256xf32>, %rhs: tensor<256x10xf32>) -> tensor<12x10xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<12x10xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<12x10xf32>) -> tensor<12x10xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<12x256xf32>, tensor<256x10xf32>)
      outs(%init : tensor<12x10xf32>) -> tensor<12x10xf32>
  return %result : tensor<12x10xf32>
}
