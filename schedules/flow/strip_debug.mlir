// Payload: data/flow/strip_debug.mlir
// Pass:    StripDebugOps of IREE's Flow pipeline.
// Idea:    assertions and prints go, what only they read goes with them, and so do the places in the source.
// Helps:   prints and assertions are side effects, which nothing may be moved across or fused over. Sizes that do
//          not fit are no longer noticed, and errors of later steps have no place in the source.
// Before:  cf.assert %same, …; vector.print %first : f32 loc("model.py":13:3)
// After:   linalg.add
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.strip_debug_ops"(%function) : (!transform.any_op) -> ()
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %stripped = transform.apply_registered_pass "strip-debuginfo" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
