// Payload: data/flow/cleanup_shapes.mlir
// Pass:    CleanupTensorShapes of IREE's Flow pipeline.
// Idea:    sizes are found, and the schedule fails where one is still asked of a tensor, and names the op.
//          IREE also removes the ops that tie sizes to tensors; upstream has none.
// Helps:   what follows may rely on sizes being values. The size of an argument has to be passed beside it
//          (expand_shapes).
// Before:  %m = tensor.dim %filled, %c0; %rank = tensor.rank %filled
// After:   %n in place of %m, a constant in place of %rank
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %resolved = transform.apply_registered_pass "resolve-ranked-shaped-type-result-dims" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %resolved {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %asking = transform.structured.match ops{["tensor.dim", "tensor.rank"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %asking, "this asks a tensor for its shape: pass the size beside the tensor" : !transform.any_op
    %found = transform.num_associations %asking : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %found, %none : !transform.param<i64>
    transform.yield
  }
}
