// Payload: data/fc_relu.mlir: linalg.max of a linalg.add of a linalg.matmul.
// Idea:    tile the ReLU, compute product and sum inside, cut the product into tiles of 4 by 4, and let a
//          microkernel compute those: --microkernel matmul_tile=schedules/microkernels/matmul_tile.c.
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %matmul = transform.get_producer_of_operand %sum[0] : (!transform.any_op) -> !transform.any_op

    %relu_tile, %loop = transform.structured.tile_using_forall %relu tile_sizes [8, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum_tile, %loop_1 = transform.structured.fuse_into_containing_op %sum into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %matmul_tile, %loop_2 = transform.structured.fuse_into_containing_op %matmul into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %small, %small_loop = transform.structured.tile_using_forall %matmul_tile tile_sizes [4, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    // Only loops can be outlined: a loop of one iteration is put around the tile.
    %one, %one_loop = transform.structured.tile_using_forall %small tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function, %call = transform.loop.outline %one_loop {func_name = "outlined"}
      : (!transform.any_op) -> (!transform.any_op, !transform.op<"func.call">)
    %micro = "lhkit.replace_with_call"(%call) {microkernel = "matmul_tile"}
      : (!transform.op<"func.call">) -> !transform.any_op
    transform.yield
  }
}
