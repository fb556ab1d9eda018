// Payload: data/matmul.mlir, in extents that the tile does not divide.
// Idea:    tiles at the border are smaller than the others; padding makes all of them full, at the price of a
//          copy of each operand's tile into a buffer of its own.
// Knobs:   tile: rows, columns and length of the reduction of a tile.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile = transform.tune.knob<"tile"> = 192 : i64 from options = [96, 160, 192] -> !transform.param<i64>
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %part, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [%tile, %tile, %tile]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %padded, %pads, %back = transform.structured.pad %part pad_to_multiple_of [%tile, %tile, %tile]
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2], nofold_flags = [1, 1, 1], copy_back_op = "none"}
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
