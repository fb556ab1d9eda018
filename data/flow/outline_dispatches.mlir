// Two equal layers, each a product, a bias and a maximum with zero: two pieces of work, one of which is enough.
func.func @outline_dispatches(%x: tensor<8x6xf32>, %w0: tensor<6x6xf32>, %w1: tensor<6x6xf32>, %bias: tensor<8x6xf32>)
    -> tensor<8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p0 = linalg.matmul ins(%x, %w0 : tensor<8x6xf32>, tensor<6x6xf32>) outs(%init : tensor<8x6xf32>) -> tensor<8x6xf32>
  %s0 = linalg.add ins(%p0, %bias : tensor<8x6xf32>, tensor<8x6xf32>) outs(%empty : tensor<8x6xf32>) -> tensor<8x6xf32>
  %r0 = linalg.max ins(%s0, %init : tensor<8x6xf32>, tensor<8x6xf32>) outs(%empty : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p1 = linalg.matmul ins(%r0, %w1 : tensor<8x6xf32>, tensor<6x6xf32>) outs(%init : tensor<8x6xf32>) -> tensor<8x6xf32>
  %s1 = linalg.add ins(%p1, %bias : tensor<8x6xf32>, tensor<8x6xf32>) outs(%empty : tensor<8x6xf32>) -> tensor<8x6xf32>
  %r1 = linalg.max ins(%s1, %init : tensor<8x6xf32>, tensor<8x6xf32>) outs(%empty : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %r1 : tensor<8x6xf32>
}
