// Payload: data/flow/symbol_dce.mlir
// Pass:    SymbolDCE of IREE's Flow pipeline.
// Idea:    private functions and globals that nothing reachable refers to are erased.
// Helps:   after inlining, outlining and deduplication: what is gone is not compiled.
// Before:  @used, @unused, @used_by_unused, @unused_weights
// After:   @used
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %cleaned = transform.apply_registered_pass "symbol-dce" to %root : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
