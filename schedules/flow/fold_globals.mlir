// Payload: data/flow/fold_globals.mlir
// Pass:    FoldGlobals of IREE's Flow pipeline.
// Idea:    a global that never changes is a constant where it is loaded, and one that nothing loads is dead.
// Helps:   constants fold into what reads them; a store less is a copy less.
// Before:  %scale = ml_program.global_load @scale … ml_program.global_store @last = %result
// After:   %scale = arith.constant dense<0.5>, and no globals
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    "lhkit.fold_globals"(%root) : (!transform.any_op) -> ()
    transform.yield
  }
}
