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
    %with_short_rows = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %with_short_rows : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @flatten_if_short failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.include @mark_ops_on_tensors failures(propagate) (%root) : (!transform.any_op) -> ()
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

  // A few rows of less than a vector become one row, where every operand that is not a number is read in the same order.
  transform.named_sequence private @flatten_if_short(%op: !transform.any_op {transform.consumed}) {
    transform.include @flatten_short_rows failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @flatten_short_rows(%op: !transform.any_op {transform.consumed}) {
    %loops, %rows, %size = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      %rows_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      %size_in = transform.match.structured.dim %linalg[-1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %rows_in, %size_in
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    // A size that is not known is a negative number.
    transform.match.param.cmpi ge %rows, %two : !transform.param<i64>
    transform.match.param.cmpi ge %size, %two : !transform.param<i64>
    %few = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi le %rows, %few : !transform.param<i64>
    %vector = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %size, %vector : !transform.param<i64>
    %flat = transform.structured.flatten_elementwise %op : (!transform.any_op) -> !transform.any_op
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
  transform.named_sequence private @mark_ops_on_tensors(!transform.any_op {transform.readonly})
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
