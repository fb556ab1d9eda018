// Payload: data/flow/split_reduction.mlir
// Pass:    SplitReduction of IREE's Flow pipeline.
// Idea:    one long reduction becomes several short ones side by side, and a short one over their results.
//          Sums round differently.
// Helps:   the pieces of a long sum run side by side, in threads or in vectors, where the result is small.
// Before:  linalg.matmul of tensor<12x256xf32> and tensor<256x10xf32>
// After:   linalg.generic to tensor<4x12x10xf32>, a quarter of the sum each, and a sum of the four
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %init, %fill, %parts, %combined = transform.structured.split_reduction %product
      {split_factor = 4, insert_split_dimension = 0}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
