// Payload: all linalg ops on tensors that are left: of any rank, maps and element types, static or dynamic.
//          Contractions that are to be more than sums of rows have to be vectors before. Memrefs stay as they are.
// Idea:    parts/inner.mlir, for each op. Large results are written past the caches: a mark on the function that lhkit's
//          lowering follows.
// Knobs:   none; %lanes is the number of f32 in a vector.
// Result:  one core of an Intel Xeon with AVX-512 and 2 MiB of second-level cache, one thread, medians of one run,
//          2048x2048 f32, as a share of np.copyto's bandwidth: negation .90 (AVX2 code .89), copy .79 (.83), transpose
//          .82 (.64), where PyTorch 2.13 takes 5.2 times as long (4.2). About .1 s to compile.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole, unused-handle

module attributes {transform.with_named_sequence} {
  transform.named_sequence @schedule_elementwise(%root: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) {
    // Nothing is fused any more, and fills are ops like others.
    %fills = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %fills : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_generalize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @order_loops failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @add_four_rows failures(propagate) (%root, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    %ops = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %ops "to_cut" : !transform.any_op
    transform.foreach %ops : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @leave_in_loops failures(propagate) (%op) : (!transform.any_op) -> ()
    }
    %few = transform.collect_matching @reduces_few_to_cut in %root : (!transform.any_op) -> !transform.any_op
    %not = transform.param.constant "no" -> !transform.any_param
    transform.annotate %few "to_cut" = %not : !transform.any_op, !transform.any_param
    // A mark for lhkit's lowering, which other programs leave alone.
    %functions = transform.get_parent_op %ops {op_name = "func.func", deduplicate} : (!transform.any_op) -> !transform.any_op
    %stream_bytes = transform.param.constant 8388608 : i64 -> !transform.param<i64>
    transform.annotate %functions "stream_results" = %stream_bytes : !transform.any_op, !transform.param<i64>
    transform.include @cut_into_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @vectorize_rows_of_any failures(propagate) (%root, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield
  }

  // Stays in the loops that it has, which LLVM vectorizes better than those around single rows.
  transform.named_sequence private @reduces_few_to_cut(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %few = transform.include @reduces_few failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %few : !transform.any_op
  }

  // In parts/four_rows.mlir:
  transform.named_sequence private @add_four_rows(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/loop_order.mlir:
  transform.named_sequence private @reduces_few(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @order_loops(!transform.any_op {transform.readonly})
  transform.named_sequence private @try_generalize(!transform.any_op {transform.consumed})
  // In parts/outer_loops.mlir:
  transform.named_sequence private @cut_into_rows(!transform.any_op {transform.readonly})
  // In parts/inner.mlir:
  transform.named_sequence private @leave_in_loops(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_rows_of_any(!transform.any_op {transform.readonly},
      !transform.param<i64> {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
