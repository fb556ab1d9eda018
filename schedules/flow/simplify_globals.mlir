// Payload: data/flow/simplify_globals.mlir
// Pass:    SimplifyGlobalAccesses of IREE's Flow pipeline.
// Idea:    a load after a store is what was stored, of two stores the first is dead, of two loads the second is
//          the first. IREE also moves loads to the start of the block; upstream's pass does not.
// Helps:   values flow from op to op and not through memory, so that the ops can be fused.
// Before:  global_store @state = %sum; %read = global_load @state; … global_store @state = %product
// After:   … global_store @state = %product, and %sum in place of %read
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %simplified = transform.apply_registered_pass "mlprogram-pipeline-globals" to %root
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
