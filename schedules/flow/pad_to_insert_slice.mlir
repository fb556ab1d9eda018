// Payload: data/flow/pad_to_insert_slice.mlir
// Pass:    TensorPadToTensorInsertSlice of IREE's Flow pipeline.
// Idea:    a padded tensor is one filled with the padding into which the source is written.
// Helps:   what computes the source may write into the padded tensor, without a copy.
// Before:  tensor.pad %image low[1, 2] high[2, 1]
// After:   linalg.fill of tensor<8x10xf32>, tensor.insert_slice %image into it
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %pad = transform.structured.match ops{["tensor.pad"]} in %root : (!transform.any_op) -> !transform.any_op
    %written = transform.structured.rewrite_in_destination_passing_style %pad
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
