// Payload: data/fc_relu.mlir: linalg.max of a linalg.add of a linalg.matmul.
// Idea:    tile the ReLU and compute product and sum inside, a tile at a time: nothing but the result
//          passes through memory.
// Knobs:   tile_m, tile_n: rows and columns of a tile.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 8 : i64 from options = [4, 8, 16, 32, 64] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [16, 32, 64, 128] -> !transform.param<i64>

    // The last op is tiled; what feeds it is computed inside, a tile at a time.
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %matmul = transform.get_producer_of_operand %sum[0] : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    %zeros = transform.get_producer_of_operand %relu[1] : (!transform.any_op) -> !transform.any_op

    %relu_tile, %loops:2 = transform.structured.tile_using_for %relu tile_sizes [%tile_m, %tile_n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %sum_tile, %loop_1 = transform.structured.fuse_into_containing_op %sum into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %matmul_tile, %loop_2 = transform.structured.fuse_into_containing_op %matmul into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %loop_3 = transform.structured.fuse_into_containing_op %init into %loop_2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %zeros_tile, %loop_4 = transform.structured.fuse_into_containing_op %zeros into %loop_3
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
