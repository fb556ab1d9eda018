// Payload: data/elementwise_chain.mlir, data/relu_dynamic.mlir, or another function whose only result comes from
//          elementwise ops on matrices, in any shape from 1x1 on, static or dynamic.
// Idea:    one pass over the data: the ops become one, which runs along the rows, a few vectors at a time; ends of
//          rows are vectors under a mask. A result that is larger than the caches is written past them: a mark on the
//          function that lhkit's lowering follows where rows are whole cache lines, and calls where the result is
//          aligned to one; other programs leave it alone.
// Knobs:   columns: elements of a row in a tile; lanes: f32 in a vector, 16 for AVX-512, 8 for AVX2, 4 for NEON.
//          stream_bytes: the size from which a result is written past the caches.
// Result:  one core of an AMD EPYC with AVX-512 (32 KiB, 1 MiB, 32 MiB of cache), 4096x4096, medians of one run (lhkit
//          bench --suite elementwise): 76 % of the copy bandwidth; with AVX2 code 88 %. With plain stores, in another
//          run, 1.46 times slower, and 48 %: every line that is written is read before, 5 transfers for 4 that
//          count, so that 80 % is their limit. About 0.05 s to compile.
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
    %stream_bytes = transform.tune.knob<"stream_bytes"> = 33554432 : i64 from options = [1048576, 33554432, 1099511627776] -> !transform.param<i64>

    transform.include @generalize_row_ops failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.include @fuse_into_rows failures(propagate) (%root) : (!transform.any_op) -> ()

    transform.include @cut_rows failures(propagate) (%root, %columns, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @vectorize_row_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @expand_math_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    // A mark for lhkit's lowering, which other programs leave alone.
    transform.annotate %fused "stream_results" = %stream_bytes : !transform.any_op, !transform.param<i64>
    transform.include @refuse_scalar_code failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // In parts/rows.mlir:
  transform.named_sequence private @generalize_row_ops(!transform.any_op {transform.readonly})
  transform.named_sequence private @fuse_into_rows(!transform.any_op {transform.readonly})
  transform.named_sequence private @cut_rows(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
  transform.named_sequence private @vectorize_row_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @expand_math_in_rows(!transform.any_op {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @refuse_scalar_code(!transform.any_op {transform.readonly})
}
