// Payload: data/flow/pad_to_multiple.mlir
// Pass:    PadLinalgOpsToIntegerMultiple of IREE's Flow pipeline.
// Idea:    extents become multiples of the tile; what was added is zero and is cut off again.
// Helps:   all tiles have one size, so vectors need no masks and loops no rest.
// Before:  linalg.matmul of tensor<13x11xf32> and tensor<11x19xf32>
// After:   tensor.pad of both, linalg.matmul of tensor<16x12xf32> and tensor<12x20xf32>, tensor.extract_slice
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %padded, %pad, %copy = transform.structured.pad %product pad_to_multiple_of [4, 4, 4]
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2],
       nofold_flags = [0, 0, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
