// Payload: data/flow/outline_dispatches.mlir
// Pass:    OutlineDispatchRegions of IREE's Flow pipeline.
// Idea:    each piece of work becomes a private function, and a call is left where it was. Equal pieces become one
//          function. In IREE it is the entry of an executable, and the call says how many workgroups run it.
//          transform.loop.outline does the same for loops, such as the scf.forall of form_workgroups.
// Helps:   pieces are scheduled, timed and replaced one by one (lhkit.replace_with_call).
// Before:  scf.execute_region { linalg.fill, linalg.matmul, linalg.add, linalg.max }, twice
// After:   call @dispatch_0(%x, %w0, %bias), call @dispatch_0(%0, %w1, %bias)
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %regions = "lhkit.form_dispatch_regions"(%function) {no_inline = false}
      : (!transform.any_op) -> !transform.any_op
    %calls = "lhkit.outline_ops"(%regions) {name = "dispatch"} : (!transform.any_op) -> !transform.any_op
    // The function is the region now.
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
