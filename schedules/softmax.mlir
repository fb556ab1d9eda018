// Payload: data/softmax.mlir, or another function whose only result comes from elementwise ops and reductions along
//          the rows of matrices, in any shape from 1x1 on, static or dynamic.
// Idea:    all that belongs to a row is computed while the row is in the first-level cache: its maximum, the
//          exponentials, which go to a buffer of one row, their sum, the quotients. Elementwise ops are fused before the
//          rows are cut, so that the exponentials, which are used twice, are computed once. Maxima and sums run over 64
//          partial ones, so that no addition waits for the one before. The exponential is an approximate one (afn),
//          the quotient a product. Ends of rows are vectors under a mask.
// Knobs:   columns: elements of a row in a tile, a few vectors, so that their dependent steps overlap; lanes: f32 in
//          a vector, 16 for AVX-512, 8 for AVX2, 4 for NEON.
// Result:  one core of an AMD EPYC with AVX-512 (32 KiB, 1 MiB, 32 MiB of cache; one 512-bit FMA a cycle), as
//          multiples of PyTorch 2.13, eager and compiled, one thread, medians of one run each, the other core busy
//          (lhkit bench --suite softmax): 1024x1024: 1.96, 2.8; 64x1024: 2.0, 4.1; 4096x512: 1.97, 2.2. In AVX2 code,
//          PyTorch held to AVX2: 2.5, 2.7; 2.6, 3.8; 2.4, 2.5. The exponential is what limits it: 14 instructions
//          a vector, of them 8 FMAs, without spills on 16 registers. About 0.1 s to compile.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/rows.mlir
// lhkit: require columns >= lanes
// lhkit: default lanes = vector_bits / 32
// lhkit: default columns = vector_bits / 8
// What is done for ends of rows, and for ops that a payload does not have, finds nothing:
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %columns = transform.tune.knob<"columns"> = 64 : i64 from options = [16, 32, 64, 128] -> !transform.param<i64>
    %lanes = transform.tune.knob<"lanes"> = 16 : i64 from options = [4, 8, 16] -> !transform.param<i64>

    transform.include @generalize_row_ops failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.include @fuse_into_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @share_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()

    transform.include @cut_rows failures(propagate) (%root, %columns, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @vectorize_row_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @relax_arithmetic failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @expand_math_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @refuse_scalar_code failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // In parts/rows.mlir:
  transform.named_sequence private @generalize_row_ops(!transform.any_op {transform.readonly})
  transform.named_sequence private @fuse_into_rows(!transform.any_op {transform.readonly})
  transform.named_sequence private @share_in_rows(!transform.any_op {transform.readonly})
  transform.named_sequence private @cut_rows(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  transform.named_sequence private @vectorize_row_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @relax_arithmetic(!transform.any_op {transform.readonly})
  transform.named_sequence private @expand_math_in_rows(!transform.any_op {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @refuse_scalar_code(!transform.any_op {transform.readonly})
}
