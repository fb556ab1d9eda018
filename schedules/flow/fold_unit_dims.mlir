// Payload: data/flow/fold_unit_dims.mlir
// Pass:    LinalgFoldUnitExtentDims of IREE's Flow pipeline.
// Idea:    a loop that runs once is no loop: operands lose their dimensions of extent 1.
// Helps:   fewer loops to tile, and patterns for matrices match batches of one.
// Before:  linalg.generic on tensor<1x6x5xf32>, three loops
// After:   linalg.generic on tensor<6x5xf32>, two loops, between collapse_shape and expand_shape
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_reshapes
    } : !transform.any_op
    transform.yield
  }
}
