// Payload: data/layernorm.mlir, or another function whose only result comes from elementwise ops and reductions along
//          the rows of matrices, in any shape from 1x1 on, static or dynamic.
// Idea:    three passes over a row while it is in the first-level cache: its sum, the sum of squared distances from the
//          mean, the result; no temporaries. Each reader of the centered row gets its own copy of the ops that center
//          it (rows are cut before elementwise ops are fused, and only then equal ops become one): one subtraction is
//          cheaper than to store the row and load it. Sums run over 64 partial ones, so that no addition waits for
//          the one before. Mean and standard deviation are computed once a row. Ends of rows are vectors under a mask.
// Knobs:   columns: elements of a row in a tile of the last pass; lanes: f32 in a vector, 16 for AVX-512, 8 for AVX2,
//          4 for NEON. stream_bytes: the size from which a result is written past the caches: without reading its
//          lines first, which stores of half a line (AVX2) do.
// Result:  one core of an AMD EPYC with AVX-512 (32 KiB, 1 MiB, 32 MiB of cache; one 512-bit FMA a cycle), as
//          multiples of PyTorch 2.13 (eager, one thread), medians of one run each (lhkit bench --suite
//          layernorm): 1024x1024: 1.9; 64x1024: 2.4; 4096x512: 2.1. In AVX2 code, PyTorch held to AVX2: 2.0, 2.7,
//          .96: there the passes over a row overlap less with the memory's. About 0.1 s to compile.
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
    %stream_bytes = transform.tune.knob<"stream_bytes"> = 8388608 : i64 from options = [1048576, 8388608, 1099511627776] -> !transform.param<i64>

    transform.include @generalize_row_ops failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @fuse_into_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.include @share_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()

    transform.include @cut_rows failures(propagate) (%root, %columns, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @vectorize_row_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @relax_arithmetic failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @expand_math_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @refuse_scalar_code failures(propagate) (%root) : (!transform.any_op) -> ()
    // lhkit's lowering reads this mark, others leave it be.
    %made = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %made "stream_results" = %stream_bytes : !transform.any_op, !transform.param<i64>
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
