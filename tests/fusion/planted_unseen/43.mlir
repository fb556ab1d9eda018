// producer: linalg.matmul
// consumer: linalg.tanh
// cause: outside-the-loop
// repair: yes
// A product, and an activation that lives in a function of its own.
func.func private @activate(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %empty = tensor.empty() : tensor<32x64xf32>
  %tanh = linalg.tanh ins(%x : tensor<32x64xf32>) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %tanh : tensor<32x64xf32>
}
func.func @layer(%lhs: tensor<32x16xf32>, %rhs: tensor<16x64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<32x16xf32>, tensor<16x64xf32>) outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
  %result = func.call @activate(%product) : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %result : tensor<32x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %active = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %active tile_sizes [8, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.annotate %loops#0 "rows" : !transform.any_op
    %product_tile, %loop = transform.structured.fuse_into_containing_op %product into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
