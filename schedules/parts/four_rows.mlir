// Payload: linalg ops on tensors of two loops that add up rows, or along rows, such as products of a matrix and a vector.
// Idea:    four rows at a time, so that memory is read in as many places at once: one stream of reads does not use all
//          of its bandwidth. A row of sums is read and written once for four rows; sums along rows are vectors of four
//          rows. What other ops of its rows read, or what is computed from other ops, goes by single rows with these
//          (parts/reductions.mlir).
// Knobs:   none.
// Result:  one core of an AMD EPYC (Zen 3, AVX2), one thread, fastest of 30 batches on a shared machine, as multiples of
//          single rows: sums of columns of 4096x4096 1.34, of 1023x1001 1.40, vector times matrix of 4096x4096 1.22, of
//          1024x1024 1.13; matrix times vector of 4096x4096 1.24, sums of rows 1.18, of all 1.30, maxima of rows 1.38.
//          Over the middle of 8x256xN, beside unscheduled code (before): N of 255 1.08 (.46), 127 1.18 (.70), 90 1.09 (.91).
//          In the third-level cache, 1024x1024, sums of rows .98, of all .90: rows below 2048 go one by one.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole, unused-handle

module attributes {transform.with_named_sequence} {
  // Cut sums of rows into tiles of four rows, which go along a row of sums that lie in registers.
  transform.named_sequence @add_four_rows(%root: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) {
    %tile = transform.include @tile_of_lanes failures(propagate) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    // Those of a batch go one by one. Registers of AVX2 do not hold short rows of sums either: LLVM would have each row
    // of these go to the stack and back.
    %long_batches = transform.collect_matching @adds_rows_of_a_batch in %root : (!transform.any_op) -> !transform.any_op
    %any_short_batches = transform.collect_matching @adds_short_rows_of_a_batch in %root : (!transform.any_op) -> !transform.any_op
    %short_batches = transform.include @if_lanes_8 failures(suppress) (%any_short_batches, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %batches = transform.merge_handles %long_batches, %short_batches : !transform.any_op
    transform.foreach %batches : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %one_of_them, %loop = transform.structured.tile_using_for %op tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %function = transform.get_parent_op %one_of_them {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
      transform.apply_patterns to %function {
        transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
      } : !transform.any_op
    }
    %long_sums = transform.collect_matching @adds_rows in %root : (!transform.any_op) -> !transform.any_op
    %any_short_sums = transform.collect_matching @adds_short_rows in %root : (!transform.any_op) -> !transform.any_op
    %short_sums = transform.include @if_lanes_8 failures(suppress) (%any_short_sums, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %sums = transform.merge_handles %long_sums, %short_sums : !transform.any_op
    transform.foreach %sums : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %part, %loops:2 = transform.structured.tile_using_for %op tile_sizes [4, %tile]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
      %row, %rows = transform.structured.tile_using_for %part tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %columns_end = transform.include @peel_end failures(suppress) (%loops#1) : (!transform.any_op) -> !transform.any_op
      %rows_end = transform.include @peel_end failures(suppress) (%loops#0) : (!transform.any_op) -> !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @adds_rows_of_a_batch(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops, %columns = transform.include @columns_of_added_rows failures(propagate) (%op)
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>)
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %three : !transform.param<i64>
    %short = transform.param.constant 256 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %columns, %short : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @adds_rows(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops, %columns = transform.include @columns_of_added_rows failures(propagate) (%op)
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>)
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    %short = transform.param.constant 256 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %columns, %short : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @adds_short_rows_of_a_batch(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.include @loops_of_added_short_rows failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %three : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @adds_short_rows(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.include @loops_of_added_short_rows failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // More columns than eight vectors of eight hold.
  transform.named_sequence private @loops_of_added_short_rows(%op: !transform.any_op {transform.readonly}) -> !transform.param<i64> {
    %loops, %columns = transform.include @columns_of_added_rows failures(propagate) (%op)
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>)
    %most_in_registers = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi gt %columns, %most_in_registers : !transform.param<i64>
    %long = transform.param.constant 256 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %columns, %long : !transform.param<i64>
    transform.yield %loops : !transform.param<i64>
  }
  transform.named_sequence private @columns_of_added_rows(%op: !transform.any_op {transform.readonly})
      -> (!transform.param<i64>, !transform.param<i64>) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %loops, %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[except(-2)] {parallel} : !transform.any_op
      %rows_in = transform.match.structured.dim %linalg[-2] {reduction} : (!transform.any_op) -> !transform.param<i64>
      %columns_in = transform.match.structured.dim %linalg[-1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %rows_in, %columns_in
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %few = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %few : !transform.param<i64>
    transform.yield %loops, %columns : !transform.param<i64>, !transform.param<i64>
  }

  // Make vectors of four rows of sums along rows that are results, of what is given.
  transform.named_sequence @reduce_four_rows(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %ops @reads_computed_0 -> @leave_single,
      @returns_row_values_of_a_column -> @mark_four_rows, @reads_computed_1 -> @leave_single, @returns_row_values -> @mark_four_rows, @reduces_all -> @mark_all
      : (!transform.any_op) -> !transform.any_op
    %found = transform.structured.match attributes {four_rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %found : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %part, %loop = transform.structured.tile_using_for %op tile_sizes [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %end = transform.include @peel_end failures(suppress) (%loop) : (!transform.any_op) -> !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %parts = transform.structured.match attributes {four_rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %parts : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_sums_of_four_rows failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %all = transform.structured.match attributes {all_rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %all : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_sums_of_all failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %tiles = transform.structured.match attributes {four_rows_tile} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %tiles : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  // What has no partial sums, such as the place of a maximum, goes by single rows.
  transform.named_sequence private @try_sums_of_four_rows(%op: !transform.any_op {transform.consumed}) {
    transform.include @sums_of_four_rows failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @sums_of_four_rows(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %parts = transform.merge_handles %all#0, %all#1, %all#2 : !transform.any_op
    transform.annotate %parts "four_rows_tile" : !transform.any_op
    %end = transform.include @peel_end failures(suppress) (%all#3) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @try_sums_of_all(%op: !transform.any_op {transform.consumed}) {
    transform.include @sums_of_all failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @sums_of_all(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [4, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %along = transform.get_parent_op %all#1 {op_name = "scf.for"} : (!transform.any_op) -> !transform.any_op
    %down = transform.get_parent_op %all#1 {op_name = "scf.for", nth_parent = 2} : (!transform.any_op) -> !transform.any_op
    %parts = transform.merge_handles %all#0, %all#1, %all#2 : !transform.any_op
    transform.annotate %parts "four_rows_tile" : !transform.any_op
    %columns_end = transform.include @peel_end failures(suppress) (%along) : (!transform.any_op) -> !transform.any_op
    %rows_end = transform.include @peel_end failures(suppress) (%down) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @reduces_all(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops, %inits, %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %inits_in = transform.match.structured.num_inits %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[all] {reduction} : !transform.any_op
      %rows_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      %columns_in = transform.match.structured.dim %linalg[-1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %inits_in, %rows_in, %columns_in
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %inits, %one : !transform.param<i64>
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    %few = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %few : !transform.param<i64>
    %short = transform.param.constant 2048 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %columns, %short : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_all(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "all_rows" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @returns_row_values(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %reader, %loops, %inits, %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %inits_in = transform.match.structured.num_inits %linalg : (!transform.any_op) -> !transform.param<i64>
      %rows_in = transform.match.structured.dim %linalg[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      %columns_in = transform.match.structured.dim %linalg[-1] {reduction} : (!transform.any_op) -> !transform.param<i64>
      %reader_in = transform.match.structured.result %linalg[0] {single} : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %reader_in, %loops_in, %inits_in, %rows_in, %columns_in
        : !transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    transform.match.operation_name %reader ["func.return", "tensor.expand_shape"] : !transform.any_op
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %inits, %one : !transform.param<i64>
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    %few = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %few : !transform.param<i64>
    %short = transform.param.constant 2048 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %columns, %short : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A column of one is a vector in another shape, nothing that was computed.
  transform.named_sequence private @returns_row_values_of_a_column(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %values = transform.include @returns_row_values failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    %from = transform.match.structured failures(propagate) %values : (!transform.any_op) -> !transform.any_op {
    ^bb0(%linalg: !transform.any_op):
      %from_in = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %from_in : !transform.any_op
    }
    transform.match.operation_name %from ["tensor.collapse_shape"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_four_rows(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "four_rows" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @leave_single(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence private @reads_computed_0(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%linalg: !transform.any_op):
      %from = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @reads_computed_1(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%linalg: !transform.any_op):
      %from = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }

  // In parts/inner.mlir:
  transform.named_sequence private @if_lanes_8(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
    -> !transform.any_op
  transform.named_sequence private @tile_of_lanes(!transform.param<i64> {transform.readonly}) -> !transform.param<i64>
  transform.named_sequence private @peel_end(!transform.any_op {transform.consumed}) -> !transform.any_op
  // In parts/vector_tiles.mlir:
  transform.named_sequence private @try_vectorize(!transform.any_op {transform.consumed})
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
