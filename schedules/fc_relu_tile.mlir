// Payload: data/fc_relu.mlir, or anything with one linalg.matmul.
// Idea:    cut the product into tiles that stay in the cache while their inputs are read; bias and ReLU
//          still pass over the whole result afterwards.
// Knobs:   tile_m, tile_n: rows and columns of a tile; tile_k: length of a piece of the reduction.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 64 : i64 from options = [8, 16, 32, 64, 128] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 16, 32, 64, 128] -> !transform.param<i64>
    %tile_k = transform.tune.knob<"tile_k"> = 64 : i64 from options = [8, 16, 32, 64, 128] -> !transform.param<i64>

    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [%tile_m, %tile_n, %tile_k]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
