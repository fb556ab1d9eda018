// Payload: data/flow/fixed_point.mlir
// Pass:    GlobalOptimization of IREE's Flow pipeline, its fixed point.
// Idea:    patterns and CSE run in turn until neither changes anything: each finds what the other has uncovered.
//          IREE repeats its passes over globals like this; those are simplify_globals, fold_globals and
//          hoist_into_globals. Upstream's composite-fixed-point-pass repeats any passes, and because it runs
//          what its options name, lhkit wants --allow-pass for it.
// Helps:   the order of the rewrites, and how often each has to run, need not be known.
// Before:  %x = a + b; %y = b + a; %c = a + (%x - %y); b + (%c * b - a * b)
// After:   return %b
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } {apply_cse} : !transform.any_op
    transform.yield
  }
}
