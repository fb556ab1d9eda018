// Payload: data/flow/detensorize.mlir
// Pass:    LinalgDetensorize, which IREE's Flow pipeline and upstream had.
// Idea:    a tensor without dimensions is a scalar in disguise, and a loop can carry it in a register.
// Helps:   loops and branches whose state is a few numbers: no buffers, no loads.
// Before:  scf.for … iter_args(%sofar = %start) -> tensor<f32> { linalg.generic { arith.mulf } }
// After:   scf.for … iter_args(%sofar = %one) -> f32 { arith.mulf }
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.detensorize"(%function) : (!transform.any_op) -> ()
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
