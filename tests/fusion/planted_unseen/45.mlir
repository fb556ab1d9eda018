// producer: 11
// consumer: 12
// cause: dead-handle
// step: transform.include
// repair: yes
// A batched product and a sigmoid-like activation.
func.func @batch(%lhs: tensor<4x32x16xf32>, %rhs: tensor<4x16x24xf32>) -> tensor<4x32x24xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x32x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x32x24xf32>) -> tensor<4x32x24xf32>
  %product = linalg.batch_matmul ins(%lhs, %rhs : tensor<4x32x16xf32>, tensor<4x16x24xf32>) outs(%init : tensor<4x32x24xf32>) -> tensor<4x32x24xf32>
  %active = linalg.tanh ins(%product : tensor<4x32x24xf32>) outs(%empty : tensor<4x32x24xf32>) -> tensor<4x32x24xf32>
  return %active : tensor<4x32x24xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %turned = transform.include @columns_last failures(propagate) (%product) : (!transform.any_op) -> !transform.any_op
    %active = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %active tile_sizes [1, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %loop "batch" : !transform.any_op
    %product_tile, %loop_1 = transform.structured.fuse_into_containing_op %product into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }

  transform.named_sequence private @columns_last(%op: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %generic = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op
    %turned = transform.structured.interchange %generic iterator_interchange = [0, 1, 3, 2] : (!transform.any_op) -> !transform.any_op
    transform.annotate %turned "columns_last" : !transform.any_op
    transform.yield %turned : !transform.any_op
  }
}
