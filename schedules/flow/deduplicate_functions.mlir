// Payload: data/flow/deduplicate_functions.mlir
// Pass:    DeduplicateExecutables of IREE's Flow pipeline.
// Idea:    of functions that are equal but for their names one is kept, and the calls of the others call it.
// Helps:   a model with fifty equal layers has one to schedule, and less code.
// Before:  call @layer_0; call @layer_1
// After:   call @layer_0; call @layer_0
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %deduplicated = transform.apply_registered_pass "duplicate-function-elimination" to %root
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
