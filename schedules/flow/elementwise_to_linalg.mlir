// Payload: data/flow/elementwise_to_linalg.mlir
// Pass:    ConvertElementwiseToLinalg of IREE's Flow pipeline.
// Idea:    arithmetic on whole tensors becomes loops over elements, which steps can tile and fuse.
// Helps:   frontends write arithmetic on tensors; no step takes it.
// Before:  arith.addf %a, %b : tensor<6x7xf32>
// After:   linalg.generic … { arith.addf %x, %y : f32 }
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.apply_registered_pass "convert-elementwise-to-linalg" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
