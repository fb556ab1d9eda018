// Payload: linalg ops on tensors, by their structure: iterator types, indexing maps, extents; any element type.
// Idea:    the steps that reductions.mlir and elementwise.mlir share: which ops there are and of how many loops, the
//          order of their loops, tiles along the innermost loop with the end split off, and vectors of tiles.
//          What is marked on an op says how it goes on: "any.rank" is the number of its loops, "any.part" a tile that
//          may become a vector. Only such tiles do, so that no vector is longer than four of the CPU's.
// Knobs:   none.
// Result:  those of the files that include it.
// Ops of ranks that a payload does not have are not found, and tiles may be larger than what they cut.
// lhkit: allow zero-match, no-effect, tile-size-too-large, unused-handle

module attributes {transform.with_named_sequence} {
  // The number of elements of a tile: four vectors of f32, so that dependent steps of several overlap.
  transform.named_sequence @tile_of_lanes(%lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    %of_16 = transform.include @tile_if_16 failures(suppress) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    %of_8 = transform.include @tile_if_8 failures(suppress) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    %of_4 = transform.include @tile_if_4 failures(suppress) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    %tile = transform.merge_handles %of_16, %of_8, %of_4 : !transform.param<i64>
    transform.yield %tile : !transform.param<i64>
  }
  transform.named_sequence private @tile_if_16(%lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    %tile = transform.include @tile_of_16 failures(propagate) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    transform.yield %tile : !transform.param<i64>
  }
  transform.named_sequence private @tile_of_16(%lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    %wanted = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    %tile = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.yield %tile : !transform.param<i64>
  }
  transform.named_sequence private @tile_if_8(%lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    %tile = transform.include @tile_of_8 failures(propagate) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    transform.yield %tile : !transform.param<i64>
  }
  transform.named_sequence private @tile_of_8(%lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    %wanted = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    %tile = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.yield %tile : !transform.param<i64>
  }
  transform.named_sequence private @tile_if_4(%lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    %tile = transform.include @tile_of_4 failures(propagate) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    transform.yield %tile : !transform.param<i64>
  }
  transform.named_sequence private @tile_of_4(%lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    %wanted = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    %tile = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.yield %tile : !transform.param<i64>
  }

  // Mark each loop but the innermost one of each op on tensors by what it is.
  transform.named_sequence private @mark_loops(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s0 = transform.foreach_match restrict_root in %ops @loop_0_is_parallel -> @mark_loop_0, @loop_0_is_reduction -> @mark_loop_0 : (!transform.any_op) -> !transform.any_op
    %ops1 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s1 = transform.foreach_match restrict_root in %ops1 @loop_1_is_parallel -> @mark_loop_1, @loop_1_is_reduction -> @mark_loop_1 : (!transform.any_op) -> !transform.any_op
    %ops2 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s2 = transform.foreach_match restrict_root in %ops2 @loop_2_is_parallel -> @mark_loop_2, @loop_2_is_reduction -> @mark_loop_2 : (!transform.any_op) -> !transform.any_op
    %ops3 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s3 = transform.foreach_match restrict_root in %ops3 @loop_3_is_parallel -> @mark_loop_3, @loop_3_is_reduction -> @mark_loop_3 : (!transform.any_op) -> !transform.any_op
    %ops4 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s4 = transform.foreach_match restrict_root in %ops4 @loop_4_is_parallel -> @mark_loop_4, @loop_4_is_reduction -> @mark_loop_4 : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @loop_0_is_parallel(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @loop_0_is_reduction(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @mark_loop_0(%op: !transform.any_op {transform.readonly}, %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_0" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_1_is_parallel(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @loop_1_is_reduction(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @mark_loop_1(%op: !transform.any_op {transform.readonly}, %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_1" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_2_is_parallel(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @loop_2_is_reduction(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @mark_loop_2(%op: !transform.any_op {transform.readonly}, %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_2" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_3_is_parallel(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @loop_3_is_reduction(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @mark_loop_3(%op: !transform.any_op {transform.readonly}, %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_3" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_4_is_parallel(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @loop_4_is_reduction(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
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
  transform.named_sequence private @mark_loop_4(%op: !transform.any_op {transform.readonly}, %kind: !transform.any_param {transform.readonly}) {
    transform.annotate %op "loop_4" = %kind : !transform.any_op, !transform.any_param
    transform.yield
  }

  // Run all loops but the innermost one iteration by iteration, those over results outside of those that reduce, and
  // drop them from the ops: what is left has one loop, and rows of its operands.
  transform.named_sequence @cut_into_rows(%root: !transform.any_op {transform.readonly}) {
    transform.include @mark_loops failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @mark_crossings failures(propagate) (%root) : (!transform.any_op) -> ()
    %parallel_0 = transform.structured.match attributes {loop_0 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_0, %parallel_loop_0 = transform.structured.tile_using_for %parallel_0 tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_1 = transform.structured.match attributes {loop_1 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_1, %parallel_loop_1 = transform.structured.tile_using_for %parallel_1 tile_sizes [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_2 = transform.structured.match attributes {loop_2 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_2, %parallel_loop_2 = transform.structured.tile_using_for %parallel_2 tile_sizes [0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_3 = transform.structured.match attributes {loop_3 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_3, %parallel_loop_3 = transform.structured.tile_using_for %parallel_3 tile_sizes [0, 0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parallel_4 = transform.structured.match attributes {loop_4 = "parallel"} in %root : (!transform.any_op) -> !transform.any_op
    %of_parallel_4, %parallel_loop_4 = transform.structured.tile_using_for %parallel_4 tile_sizes [0, 0, 0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_0 = transform.structured.match attributes {loop_0 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_0, %reduction_loop_0 = transform.structured.tile_using_for %reduction_0 tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_1 = transform.structured.match attributes {loop_1 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_1, %reduction_loop_1 = transform.structured.tile_using_for %reduction_1 tile_sizes [0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_2 = transform.structured.match attributes {loop_2 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_2, %reduction_loop_2 = transform.structured.tile_using_for %reduction_2 tile_sizes [0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_3 = transform.structured.match attributes {loop_3 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_3, %reduction_loop_3 = transform.structured.tile_using_for %reduction_3 tile_sizes [0, 0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduction_4 = transform.structured.match attributes {loop_4 = "reduction"} in %root : (!transform.any_op) -> !transform.any_op
    %of_reduction_4, %reduction_loop_4 = transform.structured.tile_using_for %reduction_4 tile_sizes [0, 0, 0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }

  // Cut what has one loop into tiles along it, reductions into partial ones for each element of a tile; both the whole
  // tiles and what is left at the end may become vectors.
  transform.named_sequence @vectorize_rows_of_any(%root: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    %tile = transform.include @tile_of_lanes failures(propagate) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    transform.include @mark_ops_on_tensors failures(propagate) (%root) : (!transform.any_op) -> ()
    %ops = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %ops, %tile @is_scalar -> @mark_short, @maps_short_row -> @mark_short, @maps_row -> @mark_map, @maps_few_rows -> @mark_small_square, @maps_rows -> @mark_square, @reduces_short_row -> @mark_short_sum, @reduces_row -> @mark_sum
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %small = transform.structured.match attributes {small_square} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %small : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_square failures(suppress) (%op, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %squares = transform.structured.match attributes {row_square} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %squares : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_block failures(suppress) (%op, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %maps = transform.structured.match attributes {row_map} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %maps : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_map failures(suppress) (%op, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %long_1_of_16 = transform.structured.match attributes {row_sum = 1, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_1_16 = transform.include @if_lanes_16 failures(suppress) (%long_1_of_16, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_1_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_1_of_8 = transform.structured.match attributes {row_sum = 1, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_1_8 = transform.include @if_lanes_8 failures(suppress) (%long_1_of_8, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_1_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_1_of_4 = transform.structured.match attributes {row_sum = 1, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_1_4 = transform.include @if_lanes_4 failures(suppress) (%long_1_of_4, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_1_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_1_of_16 = transform.structured.match attributes {row_sum = 1, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_1_16 = transform.include @if_lanes_16 failures(suppress) (%short_1_of_16, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_1_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_1_of_8 = transform.structured.match attributes {row_sum = 1, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_1_8 = transform.include @if_lanes_8 failures(suppress) (%short_1_of_8, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_1_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_1_of_4 = transform.structured.match attributes {row_sum = 1, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_1_4 = transform.include @if_lanes_4 failures(suppress) (%short_1_of_4, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_1_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_2_of_16 = transform.structured.match attributes {row_sum = 2, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_2_16 = transform.include @if_lanes_16 failures(suppress) (%long_2_of_16, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_2_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_2_of_8 = transform.structured.match attributes {row_sum = 2, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_2_8 = transform.include @if_lanes_8 failures(suppress) (%long_2_of_8, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_2_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_2_of_4 = transform.structured.match attributes {row_sum = 2, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_2_4 = transform.include @if_lanes_4 failures(suppress) (%long_2_of_4, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_2_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_2_of_16 = transform.structured.match attributes {row_sum = 2, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_2_16 = transform.include @if_lanes_16 failures(suppress) (%short_2_of_16, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_2_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_2_of_8 = transform.structured.match attributes {row_sum = 2, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_2_8 = transform.include @if_lanes_8 failures(suppress) (%short_2_of_8, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_2_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_2_of_4 = transform.structured.match attributes {row_sum = 2, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_2_4 = transform.include @if_lanes_4 failures(suppress) (%short_2_of_4, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_2_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_3_of_16 = transform.structured.match attributes {row_sum = 3, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_3_16 = transform.include @if_lanes_16 failures(suppress) (%long_3_of_16, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_3_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_3_of_8 = transform.structured.match attributes {row_sum = 3, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_3_8 = transform.include @if_lanes_8 failures(suppress) (%long_3_of_8, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_3_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_3_of_4 = transform.structured.match attributes {row_sum = 3, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_3_4 = transform.include @if_lanes_4 failures(suppress) (%long_3_of_4, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_3_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_3_of_16 = transform.structured.match attributes {row_sum = 3, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_3_16 = transform.include @if_lanes_16 failures(suppress) (%short_3_of_16, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_3_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_3_of_8 = transform.structured.match attributes {row_sum = 3, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_3_8 = transform.include @if_lanes_8 failures(suppress) (%short_3_of_8, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_3_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_3_of_4 = transform.structured.match attributes {row_sum = 3, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_3_4 = transform.include @if_lanes_4 failures(suppress) (%short_3_of_4, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_3_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @vectorize_parts failures(propagate) (%root, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @vectorize_squares failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @settle_vectors failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @if_lanes_16(%ops: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @are_lanes_16 failures(propagate) (%ops, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @are_lanes_16(%ops: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %wanted = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    transform.yield %ops : !transform.any_op
  }
  transform.named_sequence private @if_lanes_8(%ops: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @are_lanes_8 failures(propagate) (%ops, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @are_lanes_8(%ops: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %wanted = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    transform.yield %ops : !transform.any_op
  }
  transform.named_sequence private @if_lanes_4(%ops: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @are_lanes_4 failures(propagate) (%ops, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @are_lanes_4(%ops: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %wanted = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    transform.yield %ops : !transform.any_op
  }
  transform.named_sequence private @is_scalar(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %none : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @maps_short_row(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops, %size = transform.match.structured failures(propagate) %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %size_in = transform.match.structured.dim %linalg[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %size_in : !transform.param<i64>, !transform.param<i64>
    }
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %one : !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %none : !transform.param<i64>
    transform.match.param.cmpi le %size, %tile : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @maps_row(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %one : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @maps_rows(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @maps_few_rows(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops, %rows, %columns = transform.match.structured failures(propagate) %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %rows_in = transform.match.structured.dim %linalg[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      %columns_in = transform.match.structured.dim %linalg[1] {parallel} : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %rows_in, %columns_in : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    %few = transform.param.constant 256 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %none : !transform.param<i64>
    transform.match.param.cmpi le %rows, %few : !transform.param<i64>
    transform.match.param.cmpi ge %columns, %none : !transform.param<i64>
    transform.match.param.cmpi le %columns, %few : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_small_square(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "small_square" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_square(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "row_square" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @cut_block(%op: !transform.any_op {transform.consumed}, %lanes: !transform.param<i64> {transform.readonly}) {
    %block, %blocks:2 = transform.structured.tile_using_for %op tile_sizes [128, 32] interchange = [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.include @cut_square failures(propagate) (%block, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @cut_square(%op: !transform.any_op {transform.consumed}, %lanes: !transform.param<i64> {transform.readonly}) {
    %part, %loops:2 = transform.structured.tile_using_for %op tile_sizes [%lanes, %lanes] : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.annotate %part "square_part" : !transform.any_op
    %end = transform.include @peel_end failures(suppress) (%loops#1) : (!transform.any_op) -> !transform.any_op
    %end_of_outer = transform.include @peel_end failures(suppress) (%loops#0) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @reduces_row(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) -> (!transform.any_op, !transform.param<i64>) {
    %loops, %inits = transform.match.structured failures(propagate) %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %inits_in = transform.match.structured.num_inits %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[all] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in, %inits_in : !transform.param<i64>, !transform.param<i64>
    }
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %one : !transform.param<i64>
    transform.yield %op, %inits : !transform.any_op, !transform.param<i64>
  }
  transform.named_sequence private @reduces_short_row(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) -> (!transform.any_op, !transform.param<i64>) {
    %loops, %size, %inits = transform.match.structured failures(propagate) %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %inits_in = transform.match.structured.num_inits %linalg : (!transform.any_op) -> !transform.param<i64>
      %size_in = transform.match.structured.dim %linalg[0] {reduction} : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %size_in, %inits_in : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %one : !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %none : !transform.param<i64>
    transform.match.param.cmpi lt %size, %tile : !transform.param<i64>
    transform.yield %op, %inits : !transform.any_op, !transform.param<i64>
  }
  transform.named_sequence private @mark_short(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "any_part" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_map(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "row_map" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_short_sum(%op: !transform.any_op {transform.readonly}, %inits: !transform.param<i64> {transform.readonly}) {
    transform.annotate %op "row_sum" = %inits : !transform.any_op, !transform.param<i64>
    transform.annotate %op "short" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_sum(%op: !transform.any_op {transform.readonly}, %inits: !transform.param<i64> {transform.readonly}) {
    transform.annotate %op "row_sum" = %inits : !transform.any_op, !transform.param<i64>
    transform.annotate %op "long" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @cut_map(%op: !transform.any_op {transform.consumed}, %tile: !transform.param<i64> {transform.readonly}) {
    %part, %loop = transform.structured.tile_using_for %op tile_sizes [%tile] : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.include @split_off_end failures(propagate) (%part, %loop) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence @split_off_end(%part: !transform.any_op {transform.readonly}, %loop: !transform.any_op {transform.consumed}) {
    transform.annotate %part "any_part" : !transform.any_op
    %end = transform.include @peel_end failures(suppress) (%loop) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // Peeling fails where tiles come out even; then there is no end.
  transform.named_sequence private @peel_end(%loop: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %for = transform.cast %loop : !transform.any_op to !transform.op<"scf.for">
    %main, %end = transform.loop.peel %for : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.yield %end : !transform.any_op
  }

  // Make vectors of what is marked as a tile: of those of known size at once, of others under a mask.
  transform.named_sequence @vectorize_parts(%root: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly}) {
    %parts = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %parts @is_uneven_of_16_bits -> @mark_masked : (!transform.any_op) -> !transform.any_op
    %tiles = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %tiles : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %left = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    %masked = transform.structured.match attributes {any_part = "masked"} in %root : (!transform.any_op) -> !transform.any_op
    %uneven = transform.merge_handles %left, %masked : !transform.any_op
    transform.foreach %uneven : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize_masked failures(suppress) (%op, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    transform.yield
  }
  // LLVM has no code for some ops on bf16 in vectors of other lengths than powers of two.
  transform.named_sequence private @is_uneven_of_16_bits(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %bits, %size = transform.match.structured failures(propagate) %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %size_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      %result = transform.match.structured.init %linalg[0] : (!transform.any_op) -> !transform.any_value
      %bits_in = transform.match.structured.elemental_bitwidth %result : (!transform.any_value) -> !transform.param<i64>
      transform.match.structured.yield %bits_in, %size_in : !transform.param<i64>, !transform.param<i64>
    }
    %sixteen = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %bits, %sixteen : !transform.param<i64>
    %power_4 = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_4 : !transform.param<i64>
    %power_8 = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_8 : !transform.param<i64>
    %power_16 = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_16 : !transform.param<i64>
    %power_32 = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_32 : !transform.param<i64>
    %power_64 = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %size, %power_64 : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_masked(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "masked" -> !transform.any_param
    transform.annotate %op "any_part" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @try_vectorize(%op: !transform.any_op {transform.consumed}) {
    transform.include @vectorize_part failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @vectorize_part(%op: !transform.any_op {transform.consumed}) {
    transform.structured.vectorize %op {vectorize_nd_extract} : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @try_vectorize_masked(%op: !transform.any_op {transform.consumed}, %tile: !transform.param<i64> {transform.readonly}) {
    transform.include @vectorize_masked failures(propagate) (%op, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @vectorize_masked(%op: !transform.any_op {transform.consumed}, %tile: !transform.param<i64> {transform.readonly}) {
    transform.structured.vectorize %op vector_sizes [%tile] {vectorize_nd_extract} : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @vectorize_squares(%root: !transform.any_op {transform.readonly}) {
    %tiles = transform.structured.match attributes {square_part} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %tiles : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.yield
  }

  // Keep partial sums in registers, and write out what is left of masks and reductions of vectors.
  transform.named_sequence @settle_vectors(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_masked_transfers
    } : !transform.any_op
    // Reads of columns are of rows, which are transposed in registers.
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.transfer_permutation_patterns
    } : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_masks
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %loops = transform.structured.match ops{["scf.for"]} in %function : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.hoist_loop_invariant_subsets %each : !transform.any_op
    }
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reorder_multi_reduction_dims lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_flattening lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_unrolling lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.lower_broadcast
      transform.apply_patterns.vector.drop_unit_dims_with_shape_cast
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_transpose lowering_strategy = "shuffle_16x16" avx2_lowering_strategy = true
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    // The parts of a sum were added in another order already.
    %in_any_order = transform.param.constant #arith.fastmath<reassoc> -> !transform.any_param
    %totals = transform.structured.match ops{["vector.reduction"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %totals "fastmath" = %in_any_order : !transform.any_op, !transform.any_param
    transform.yield
  }

  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  // In parts/loop_order.mlir:
  transform.named_sequence private @mark_ops_on_tensors(!transform.any_op {transform.readonly})
  transform.named_sequence private @mark_crossings(!transform.any_op {transform.readonly})
  // In parts/partial_sums.mlir:
  transform.named_sequence private @try_partial_sums_1_64(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_1_32(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_1_16(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_1_8(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_1_4(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_2_64(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_2_32(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_2_16(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_2_8(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_2_4(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_3_64(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_3_32(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_3_16(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_3_8(!transform.any_op {transform.consumed})
  transform.named_sequence private @try_partial_sums_3_4(!transform.any_op {transform.consumed})
}
