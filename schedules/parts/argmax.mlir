// Payload: linalg ops on tensors that look for the place of the largest or smallest element of each row.
// Idea:    lhkit.split_argmax: eight lanes look for one each, and are combined at the end; four rows at a time, as in
//          four_rows.mlir, which makes vectors of the tiles. Places of columns need none of that: rows of them are
//          vectors as they are.
// Knobs:   none.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole, unused-handle

module attributes {transform.with_named_sequence} {
  transform.named_sequence @split_searches(%root: !transform.any_op {transform.readonly}) {
    %of_rows = transform.collect_matching @searches_rows in %root : (!transform.any_op) -> !transform.any_op
    %of_one = transform.collect_matching @searches_one_row in %root : (!transform.any_op) -> !transform.any_op
    %found = transform.merge_handles %of_rows, %of_one : !transform.any_op
    transform.foreach %found : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_split_search failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %by_lanes = transform.structured.match attributes {search = "by lanes"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %by_lanes : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %part, %loops:2 = transform.structured.tile_using_for %op tile_sizes [4, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
      %end = transform.include @peel_end failures(suppress) (%loops#0) : (!transform.any_op) -> !transform.any_op
    }
    %row_by_lanes = transform.structured.match attributes {search = "one row by lanes"} in %root : (!transform.any_op) -> !transform.any_op
    %step_of_row, %steps_of_row = transform.structured.tile_using_for %row_by_lanes tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    // One step is a loop of its own, in which only rows and lanes are left.
    %tiles_of_rows = transform.structured.match attributes {search = "by lanes"} in %root : (!transform.any_op) -> !transform.any_op
    %tiles_of_one = transform.structured.match attributes {search = "one row by lanes"} in %root : (!transform.any_op) -> !transform.any_op
    %tiles = transform.merge_handles %tiles_of_rows, %tiles_of_one : !transform.any_op
    %steps = transform.get_parent_op %tiles {op_name = "scf.for", deduplicate} : (!transform.any_op) -> !transform.any_op
    transform.foreach %steps : !transform.any_op {
    ^bb0(%step: !transform.any_op):
      transform.apply_patterns to %step {
        transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
        transform.apply_patterns.canonicalization
      } : !transform.any_op
      %part = transform.structured.match ops{["linalg.generic"]} in %step : (!transform.any_op) -> !transform.any_op
      transform.annotate %part "four_rows_tile" : !transform.any_op
    }
    %combining = transform.structured.match attributes {search = "combining"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %combining : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %part, %loop = transform.structured.tile_using_for %op tile_sizes [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.annotate %part "four_rows_tile" : !transform.any_op
      %end = transform.include @peel_end failures(suppress) (%loop) : (!transform.any_op) -> !transform.any_op
    }
    %combining_one = transform.structured.match attributes {search = "combining one row"} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %combining_one "four_rows_tile" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @searches_one_row(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %loops, %results = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {reduction} : !transform.any_op
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %results_in = transform.match.structured.num_inits %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %results_in : !transform.param<i64>, !transform.param<i64>
    }
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %one : !transform.param<i64>
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %results, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @searches_rows(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %loops, %results = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[0] {parallel} : !transform.any_op
      transform.match.structured.dim %linalg[-1] {reduction} : !transform.any_op
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %results_in = transform.match.structured.num_inits %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %results_in : !transform.param<i64>, !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %two : !transform.param<i64>
    transform.match.param.cmpi eq %results, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @try_split_search(%op: !transform.any_op {transform.consumed}) {
    transform.include @split_search failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @split_search(%op: !transform.any_op {transform.consumed}) {
    %lanes = transform.param.constant 8 : i64 -> !transform.param<i64>
    %by_lanes, %combining = "lhkit.split_argmax"(%op, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }

  // In parts/inner.mlir:
  transform.named_sequence private @peel_end(!transform.any_op {transform.consumed}) -> !transform.any_op
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
