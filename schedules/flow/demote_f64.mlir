// Payload: data/flow/demote_f64.mlir
// Pass:    DemoteF64ToF32 of IREE's Flow pipeline.
// Idea:    what is computed in f64 is computed in f32. Public functions keep their types: arguments of f64 are
//          rounded on entry, results widened on return. IREE's pass changes them too.
// Helps:   half the memory and twice as many lanes. Results have seven digits in place of sixteen.
// Before:  arith.mulf %x, %factors : tensor<6xf64>
// After:   arith.mulf %x, %factors : tensor<6xf32>
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    "lhkit.demote_f64"(%root) : (!transform.any_op) -> ()
    transform.yield
  }
}
