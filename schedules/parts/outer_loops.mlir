// Payload: linalg ops on tensors whose loops are in the order that parts/loop_order.mlir gives them, and that are marked
//          "to_cut".
// Idea:    all loops but the innermost one run iteration by iteration, those over results outside of those that
//          reduce, and unit extents are dropped: every op becomes one of one loop, whatever its rank and maps were, or
//          of two where it reads an operand across.
// Knobs:   none.
// Result:  those of reductions.mlir and elementwise.mlir.
// What a payload does not have is not found.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole, unused-handle

module attributes {transform.with_named_sequence} {
  // Mark each loop but the innermost one of each op on tensors by what it is.
  transform.named_sequence private @mark_loops(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s0 = transform.foreach_match restrict_root in %ops @loop_0_is_parallel -> @mark_loop_0,
      @loop_0_is_reduction -> @mark_loop_0
      : (!transform.any_op) -> !transform.any_op
    %ops1 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s1 = transform.foreach_match restrict_root in %ops1 @loop_1_is_parallel -> @mark_loop_1,
      @loop_1_is_reduction -> @mark_loop_1
      : (!transform.any_op) -> !transform.any_op
    %ops2 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s2 = transform.foreach_match restrict_root in %ops2 @loop_2_is_parallel -> @mark_loop_2,
      @loop_2_is_reduction -> @mark_loop_2
      : (!transform.any_op) -> !transform.any_op
    %ops3 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s3 = transform.foreach_match restrict_root in %ops3 @loop_3_is_parallel -> @mark_loop_3,
      @loop_3_is_reduction -> @mark_loop_3
      : (!transform.any_op) -> !transform.any_op
    %ops4 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s4 = transform.foreach_match restrict_root in %ops4 @loop_4_is_parallel -> @mark_loop_4,
      @loop_4_is_reduction -> @mark_loop_4
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @loop_0_is_parallel(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[0] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "parallel" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @loop_0_is_reduction(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[0] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "reduction" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @mark_loop_0(%op: !transform.any_op {transform.readonly},
      %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_0" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_1_is_parallel(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[1] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "parallel" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @loop_1_is_reduction(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[1] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "reduction" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @mark_loop_1(%op: !transform.any_op {transform.readonly},
      %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_1" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_2_is_parallel(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[2] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "parallel" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @loop_2_is_reduction(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[2] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "reduction" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @mark_loop_2(%op: !transform.any_op {transform.readonly},
      %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_2" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_3_is_parallel(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[3] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "parallel" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @loop_3_is_reduction(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[3] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "reduction" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @mark_loop_3(%op: !transform.any_op {transform.readonly},
      %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_3" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_4_is_parallel(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[4] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "parallel" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @loop_4_is_reduction(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[4] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    %kind = transform.param.constant "reduction" -> !transform.any_param
    transform.yield %op, %kind : !transform.any_op, !transform.any_param
  }
  transform.named_sequence private @mark_loop_4(%op: !transform.any_op {transform.readonly},
      %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_4" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }

  // Run all loops but the innermost one iteration by iteration, those over results outside of those that reduce, and
  // drop them from the ops: what is left has one loop, and rows of its operands.
  transform.named_sequence @cut_into_rows(%root: !transform.any_op {transform.readonly}) {
    transform.include @mark_loops failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @mark_crossings failures(propagate) (%root) : (!transform.any_op) -> ()
    %parallel_0 = transform.structured.match attributes {loop_0 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_0, %parallel_loop_0 = transform.structured.tile_using_for %parallel_0 tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_1 = transform.structured.match attributes {loop_1 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_1, %parallel_loop_1 = transform.structured.tile_using_for %parallel_1 tile_sizes [0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_2 = transform.structured.match attributes {loop_2 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_2, %parallel_loop_2 = transform.structured.tile_using_for %parallel_2 tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_3 = transform.structured.match attributes {loop_3 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_3, %parallel_loop_3 = transform.structured.tile_using_for %parallel_3 tile_sizes [0, 0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_4 = transform.structured.match attributes {loop_4 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_4, %parallel_loop_4 = transform.structured.tile_using_for %parallel_4 tile_sizes [0, 0, 0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_0 = transform.structured.match attributes {loop_0 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_0, %reduction_loop_0 = transform.structured.tile_using_for %reduction_0 tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_1 = transform.structured.match attributes {loop_1 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_1, %reduction_loop_1 = transform.structured.tile_using_for %reduction_1 tile_sizes [0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_2 = transform.structured.match attributes {loop_2 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_2, %reduction_loop_2 = transform.structured.tile_using_for %reduction_2 tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_3 = transform.structured.match attributes {loop_3 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_3, %reduction_loop_3 = transform.structured.tile_using_for %reduction_3 tile_sizes [0, 0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_4 = transform.structured.match attributes {loop_4 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_4, %reduction_loop_4 = transform.structured.tile_using_for %reduction_4 tile_sizes [0, 0, 0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }

  // In parts/loop_order.mlir:
  transform.named_sequence private @mark_crossings(!transform.any_op {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
