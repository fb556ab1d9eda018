// Payload: data/flow/hoist_into_globals.mlir
// Pass:    HoistIntoGlobals of IREE's Flow pipeline.
// Idea:    what depends on constants alone is computed while the schedule is applied, and a global holds the result.
//          IREE computes it when a program is loaded, by an initializer, which ml_program does not have.
// Helps:   weights are packed, transposed and cast once and not in every call.
// Before:  %turned = linalg.transpose ins(%weights) …; %scaled = arith.mulf %turned, %half
// After:   %scaled = ml_program.global_load @hoisted_0
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.hoist_into_globals"(%function) : (!transform.any_op) -> ()
    // What the global was computed from is dead.
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
