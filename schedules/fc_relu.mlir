// Payload: data/fc_relu.mlir, or another layer: a linalg.matmul of f32 that starts from zeros, in any shape from 1x1x1
//          on, static or dynamic, and ops that work on its result by elements, such as the addition of a bias (a
//          matrix, or a row that linalg.broadcast repeats) and the maximum with zero. Chains of layers, layers
//          without such ops, and results that several ops read are taken too; what works on matrices by elements
//          and is no layer's alone is computed row by row. Without such ops the columns have to be known.
// Idea:    bias and maximum are applied to a tile while it is in vector registers, so that the result is written once
//          and never read: what follows the matmul becomes one op, and the matmul is fused into its tiles. Otherwise as
//          matmul.mlir: a tile stays in registers for the whole reduction; the weights that a strip of tiles reads
//          are copied once into a panel without gaps, unless there are at most 12 rows, 32 steps, or 576 columns and
//          512 steps with tiles of 64 columns or more; weights that are constants, as those that kernel.bind has
//          bound, are packed before the loops, which lhkit does once and not in every call, and so is a bias that is a
//          constant matrix; the last tiles of a strip prefetch the next of the panels packed so, which lie in the
//          third-level cache, and each tile the lines of its result and bias. Ends are peeled; columns at the end that
//          fill no vector are computed beside their place.
//          A maximum with a constant may give a zero of either sign, which makes it one instruction; NaNs pass.
// Knobs:   tile_m, tile_n: rows and columns of a tile; lanes: f32 in a vector. tile_m * tile_n / lanes
//          accumulators have to fit the vector registers with room for the operands: 6, 64, 16 for AVX-512;
//          4, 24, 8 for AVX2; 8, 8, 4 for NEON; 4, 8, 4 for SSE. narrow_tile_m: rows of a tile one vector wide.
// Result:  one core of an AMD EPYC with AVX-512 (32 KiB, 1 MiB, 32 MiB of cache; one 512-bit FMA a cycle), medians of
//          one run (lhkit bench --suite fc_relu) as multiples of torch.compile 2.13 with max-autotune and weights in
//          the layout that suits it better: 512: 1.22; 1024: 1.20; of NumPy 2: 1.15, 1.12. That is 91 and 92 % of the
//          FMA peak, which is what limits it: 1.35 of torch.compile at 512 would be all of it. Two threads: 1.87 and
//          1.98 times one. In AVX2 code, the core shared with other work: 1.26 and 1.14 of torch.compile held to
//          AVX2, 1.05 and .97 of NumPy with OpenBLAS's kernel for Haswell. About 0.1 s to compile, 0.25 s with ends in
//          all directions.
//          Weights and bias bound, as multiples of torch.compile with frozen weights and of IREE 3.13 with constant
//          ones, data tiling and ukernels (lhkit bench --suite fc_relu-packed), one core of an Intel Xeon (AVX-512, 48
//          KiB, 2 MiB; two 512-bit FMAs a cycle): 512: 1.35, 1.54; 1024: 1.10, 1.62; in AVX2 code 512: 1.19, 1.32;
//          1024: 1.02, 1.35, 88 % of the peak, which blocks of 256 to 512 steps would not raise (82 to 84). On the AMD EPYC
//          before the bias was packed and panels prefetched: 512: 1.40, 1.09; 1024: 1.30, 1.03; in AVX2 code 512:
//          1.31, 1.21; 1024: 1.16, 1.12.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/layers.mlir
// lhkit: library parts/packed.mlir
// lhkit: library parts/threads.mlir
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
    %threads = transform.tune.knob<"threads"> = 1 : i64 from options = [1, 2, 4, 8] -> !transform.param<i64>

    // Bias, maximum and the like become one op, the epilogue of the layer.
    transform.include @merge_epilogues failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @share_layers_among_threads failures(propagate) (%root, %threads)
      : (!transform.any_op, !transform.param<i64>) -> ()
    // Tiles of the epilogue, and the matmul within them, over packed weights.
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
  // In parts/threads.mlir:
  transform.named_sequence private @share_layers_among_threads(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @lower_contractions(!transform.any_op {transform.readonly})
  transform.named_sequence private @refuse_scalar_code(!transform.any_op {transform.readonly})
}
