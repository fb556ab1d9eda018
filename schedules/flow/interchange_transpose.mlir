// Payload: data/flow/interchange_transpose.mlir
// Pass:    InterchangeTransposeGenericOps of IREE's Flow pipeline.
// Idea:    the loops follow the input, whose map becomes the identity, and the result is written across.
// Helps:   the input is read front to back, and a producer with the same loops can be fused.
// Before:  (d0, d1) -> (d1, d0) for the input, (d0, d1) -> (d0, d1) for the result
// After:   (d0, d1) -> (d0, d1) for the input, (d0, d1) -> (d1, d0) for the result
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %transposed = transform.structured.match ops{["linalg.generic"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %ordered = transform.structured.interchange %transposed iterator_interchange = [1, 0]
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
