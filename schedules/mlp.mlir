// Payload: data/mlp.mlir, or other layers in a row as fc_relu.mlir takes them, in any shape, static or dynamic; the
//          columns of a layer without epilogue have to be known.
// Idea:    each layer is the fused kernel of fc_relu.mlir: bias and ReLU are applied in registers, the layer is written
//          once, and the next one reads it. Layers are not fused into one another: every tile of a layer needs whole
//          rows of the one before, and a batch of a few hundred rows stays in the cache between two layers, while the
//          weights, which are the larger part, are packed once for the whole batch; once for all calls if they are
//          constants, as those that kernel.bind has bound, and so are biases that are constant matrices;
//          such panels are prefetched strip by strip.
// Knobs:   as those of fc_relu.mlir: tile_m, tile_n: rows and columns of a tile; lanes: f32 in a vector; 6, 64, 16
//          for AVX-512; 4, 24, 8 for AVX2; 8, 8, 4 for NEON; 4, 8, 4 for SSE. narrow_tile_m: rows of a tile one
//          vector wide.
// Result:  one core of an AMD EPYC with AVX-512 (32 KiB, 1 MiB, 32 MiB of cache; one 512-bit FMA a cycle), medians of
//          one run (lhkit bench --suite mlp), batch of 256 and layers of 1024, as a multiple of torch.compile 2.13 with
//          max-autotune and weights in the layout that suits it better: 1.18; of NumPy 2: 1.13; 88 % of the FMA peak.
//          In AVX2 code, the core shared with other work: 1.13 of torch.compile held to AVX2, 1.01 of NumPy.
//          Weights and biases bound (lhkit bench --suite mlp-packed), one core of an Intel Xeon: 1.09 of torch.compile
//          with frozen weights, 1.56 of IREE 3.13, 86 % of the peak (1.02, 1.47, 78 % without prefetches); in AVX2 code
//          1.07, 1.40, 92 %.
//          About 0.2 s to compile, 0.5 s where all three layers have ends in all directions.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/layers.mlir
// lhkit: library parts/packed.mlir
// lhkit: require tile_n % lanes == 0
// lhkit: default lanes = vector_bits / 32
// lhkit: default tile_n = 64 if vector_bits == 512 else 24 if vector_bits == 256 else vector_bits / 16
// lhkit: default tile_m = 6 if vector_bits == 512 else 8 if vector_registers == 32 else 4
// lhkit: default narrow_tile_m = 12 if vector_registers == 32 else 8
// What is done for the ways that a payload does not take, and for ends that it does not have, finds nothing:
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 6 : i64 from options = [2, 4, 6, 8, 12] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 12, 16, 24, 32, 48, 64] -> !transform.param<i64>
    %narrow_tile_m = transform.tune.knob<"narrow_tile_m"> = 12 : i64 from options = [4, 6, 8, 12, 16] -> !transform.param<i64>
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>

    // What lies between two matmuls becomes one op, the epilogue of the layer.
    transform.include @merge_epilogues failures(propagate) (%root) : (!transform.any_op) -> ()
    // Layer by layer, tiles of the epilogue, and the matmul within them, over packed weights.
    transform.include @tile_layers failures(propagate) (%root, %tile_m, %tile_n, %narrow_tile_m, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    // Vectors for what has at most so many rows and columns; anything larger is refused, as is what lost its contraction.
    %most_rows = transform.param.constant 16 : i64 -> !transform.param<i64>
    %most_columns = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.include @vectorize_layers failures(propagate) (%root, %most_rows, %most_columns)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @lower_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @refuse_scalar_code failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // In parts/layers.mlir:
  transform.named_sequence private @merge_epilogues(!transform.any_op {transform.readonly})
  transform.named_sequence private @tile_layers(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  transform.named_sequence private @vectorize_layers(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @lower_contractions(!transform.any_op {transform.readonly})
  transform.named_sequence private @refuse_scalar_code(!transform.any_op {transform.readonly})
}
