// producer: 11
// consumer: 12
// cause: dead-handle
// step: transform.include
// repair: yes
// Attention's weighted values: probabilities times values, plus the residual, for each head.
func.func @context(%p: tensor<4x32x32xf32>, %v: tensor<4x32x16xf32>, %residual: tensor<4x32x16xf32>) -> tensor<4x32x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x32x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
  %context = linalg.batch_matmul ins(%p, %v : tensor<4x32x32xf32>, tensor<4x32x16xf32>) outs(%init : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
  %out = linalg.add ins(%context, %residual : tensor<4x32x16xf32>, tensor<4x32x16xf32>) outs(%e : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
  return %out : tensor<4x32x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  // Bring an op to the form of the other passes.
  transform.named_sequence private @normalize(%op: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %generic = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op
    transform.annotate %generic "normal" : !transform.any_op
    transform.yield %generic : !transform.any_op
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %context = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %out = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %both = transform.merge_handles %context, %out : !transform.any_op
    %normal = transform.include @normalize failures(propagate) (%both) : (!transform.any_op) -> !transform.any_op
    %first, %last = transform.split_handle %normal : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // A head a step, eight rows a tile.
    %tile, %loops:2 = transform.structured.tile_using_for %last tile_sizes [1, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %context_tile, %loop = transform.structured.fuse_into_containing_op %context into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
