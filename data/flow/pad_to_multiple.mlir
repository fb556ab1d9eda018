// A product with odd extents.
func.func @pad_to_multiple(%lhs: tensor<13x11xf32>, %rhs: tensor<11x19xf32>) -> tensor<13x19xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<13x19xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<13x19xf32>) -> tensor<13x19xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<13x11xf32>, tensor<11x19xf32>)
      outs(%init : tensor<13x19xf32>) -> tensor<13x19xf32>
  return %result : tensor<13x19xf32>
}
