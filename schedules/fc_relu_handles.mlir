// Payload: data/fc_relu.mlir: linalg.max of a linalg.add of a linalg.matmul.
// Idea:    ten steps in which handles are defined, share payload ops, and are invalidated in three ways.
//          The lesson 02_handles goes through them.
// Knobs:   tile: rows and columns of a tile.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %matmul = transform.get_producer_of_operand %sum[0] : (!transform.any_op) -> !transform.any_op
    // One handle to two ops. No step uses it: it shows what other steps do to it.
    // lhkit: allow unused-handle
    %elementwise = transform.merge_handles %sum, %relu : !transform.any_op

    // A loop over tiles of the last op.
    %tile = transform.tune.knob<"tile"> = 32 : i64 from options = [8, 16, 32, 64] -> !transform.param<i64>
    %relu_tile, %forall = transform.structured.tile_using_forall %relu tile_sizes [%tile, %tile]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)

    // Product and sum follow into the loop, last one first.
    %sum_tile, %forall_1 = transform.structured.fuse_into_containing_op %sum into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %matmul_tile, %forall_2 = transform.structured.fuse_into_containing_op %matmul into %forall_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)

    // A loop over pieces of the sum, unrolled four times.
    %piece, %reduction = transform.structured.tile_using_for %matmul_tile tile_sizes [0, 0, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.loop.unroll %reduction {factor = 4} : !transform.any_op
    transform.yield
  }
}
