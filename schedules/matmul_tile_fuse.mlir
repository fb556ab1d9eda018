// Payload: data/matmul.mlir, or anything with one linalg.matmul that adds to a linalg.fill.
// Idea:    tile the product and zero each tile where it is computed, while it is in the cache.
// Knobs:   tile_m, tile_n: rows and columns of a tile.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 8 : i64 from options = [4, 8, 16, 32, 64] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [16, 32, 64, 128] -> !transform.param<i64>

    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    %tiled, %forall = transform.structured.tile_using_forall %matmul tile_sizes [%tile_m, %tile_n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op)
    // Through the shared output of a forall the zeroing can follow; through scf.for it could not.
    %init_tile, %loop = transform.structured.fuse_into_containing_op %init into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
