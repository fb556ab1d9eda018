// Payload: data/memory/matmul.mlir.
// Idea:    the tiling of "Linalg on tensors", and the bufferization of the document as a step: subtensors become
//          subviews, what is put back becomes nothing, and the result is computed where the third argument is.
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [2, 3, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %buffered = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %root
      {bufferize_function_boundaries = true} : (!transform.any_op) -> !transform.any_op
    // In this order: the other one leaves copies of a buffer to itself.
    %function = transform.structured.match ops{["func.func"]} in %buffered
      : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
