// Payload: data/flow/resolve_dims.mlir
// Pass:    ResolveShapedTypeResultDims of IREE's Flow pipeline.
// Idea:    the size of a result is computed from the sizes of operands, and no longer asked of the result.
// Helps:   ops whose results were only asked for their size become dead; fusion sees the values alone.
// Before:  %m = tensor.dim %sum, %c0
// After:   %m = tensor.dim %a, %c0
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %resolved = transform.apply_registered_pass "resolve-shaped-type-result-dims" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
