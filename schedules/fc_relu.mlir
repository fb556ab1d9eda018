// Payload: data/fc_relu.mlir
// lhkit: library parts/cpu.mlir
// lhkit: library parts/layers.mlir
// lhkit: require tile_n % lanes == 0
// lhkit: allow zero-match, no-effect, tile-size-too-large

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 6 : i64 from options = [2, 4, 6, 8, 12] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 16, 32, 64] -> !transform.param<i64>
    %narrow_tile_m = transform.tune.knob<"narrow_tile_m"> = 12 : i64 from options = [4, 6, 8, 12, 16] -> !transform.param<i64>
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>

    transform.include @merge_epilogues failures(propagate) (%root) : (!transform.any_op) -> ()
    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %wide, %narrow, %last = transform.include @cut_layers_into_strips failures(propagate) (%root, %matmuls, %tile_n, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %packed = transform.include @pack_panels failures(propagate) (%wide, %tile_n) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %packed_1 = transform.include @pack_panels failures(propagate) (%narrow, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %tiles = transform.include @cut_layers_into_tiles failures(propagate) (%root, %packed, %tile_m) : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> !transform.any_op
    %tiles_1 = transform.include @cut_layers_into_tiles failures(propagate) (%root, %packed_1, %narrow_tile_m) : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %epilogues = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @vectorize_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.structured.vectorize %epilogues : !transform.any_op
    transform.include @keep_tile_in_registers failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @lower_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @keep_tile_in_registers(!transform.any_op {transform.readonly})
  transform.named_sequence private @lower_contractions(!transform.any_op {transform.readonly})
  // In parts/layers.mlir:
  transform.named_sequence private @merge_epilogues(!transform.any_op {transform.readonly})
  transform.named_sequence private @cut_layers_into_strips(!transform.any_op {transform.readonly}, !transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
    -> (!transform.any_op, !transform.any_op, !transform.any_op)
  transform.named_sequence private @pack_panels(!transform.any_op {transform.consumed},
    !transform.param<i64> {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @cut_layers_into_tiles(!transform.any_op {transform.readonly}, !transform.any_op {transform.readonly},
      !transform.param<i64> {transform.readonly}) -> !transform.any_op
}
