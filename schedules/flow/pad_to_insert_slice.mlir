// Payload: data/flow/pad_to_insert_slice.mlir
// Pass:    TensorPadToTensorInsertSlice of IREE's Flow pipeline.
// Idea:    a padded tensor is one filled with the padding into which the source is written.
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %pad = transform.structured.match ops{["tensor.pad"]} in %root : (!transform.any_op) -> !transform.any_op
    %written = transform.structured.rewrite_in_destination_passing_style %pad
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
