// Payload: data/memory/matmul.mlir or data/memory/matmul_into.mlir.
// Idea:    the tiling of "Linalg on tensors": three loops that cut tiles out of tensors and put them back, which
//          in buffers is neither an allocation nor a copy.
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [2, 3, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
