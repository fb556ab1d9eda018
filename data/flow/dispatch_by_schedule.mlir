// A product and the sum of a bias. Each op is to be split into work in the way that its kind wants.
func.func @dispatch_by_schedule(%lhs: tensor<16x8xf32>, %rhs: tensor<8x12xf32>, %bias: tensor<16x12xf32>)
    -> tensor<16x12xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x12xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x12xf32>) -> tensor<16x12xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<16x8xf32>, tensor<8x12xf32>)
      outs(%init : tensor<16x12xf32>) -> tensor<16x12xf32>
  %e0 = tensor.empty() : tensor<16x12xf32>
  %sum = linalg.add ins(%product, %bias : tensor<16x12xf32>, tensor<16x12xf32>)
      outs(%e0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  return %sum : tensor<16x12xf32>
}
