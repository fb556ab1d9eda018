// Payload: data/flow/fuse_elementwise.mlir
// Pass:    FusionOfTensorOps of IREE's Flow pipeline.
// Idea:    elementwise ops become one, and their temporaries go. The pass leaves named ops alone, so they
//          are generalized first.
// Helps:   each element is read once and written once, in place of once an op.
// Before:  linalg.mul, linalg.add, linalg.abs
// After:   linalg.generic { arith.mulf; arith.addf; math.absf }
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %generic = transform.apply_registered_pass "linalg-generalize-named-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %generic
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
