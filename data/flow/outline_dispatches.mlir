// A product and what is added to it: one piece of work, which is to be a function of its own.
func.func @outline_dispatches(%lhs: tensor<16x8xf32>, %rhs: tensor<8x12xf32>, %bias: tensor<16x12xf32>)
    -> tensor<16x12xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x12xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x12xf32>) -> tensor<16x12xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<16x8xf32>, tensor<8x12xf32>)
      outs(%init : tensor<16x12xf32>) -> tensor<16x12xf32>
  %sum = linalg.add ins(%product, %bias : tensor<16x12xf32>, tensor<16x12xf32>)
      outs(%empty : tensor<16x12xf32>) -> tensor<16x12xf32>
  return %sum : tensor<16x12xf32>
}
