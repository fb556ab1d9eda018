// Payload: linalg ops on tensors that reduce some of their loops, and what reads their results.
// Idea:    softmax, layernorm and their like, found by their maps: what reads one value a row, along with its row, is
//          computed row by row with all that it is computed from, while the row is in the first-level cache, and
//          temporaries are of a row. What reduces otherwise, or is read by other rows than its own, is computed before,
//          once. To be included before parts/elementwise.mlir, which makes vectors of all of it.
// Knobs:   none; %lanes is the number of f32 in a vector.
// Result:  one core of an Intel Xeon with AVX-512 and 2 MiB of second-level cache, one thread, medians of one run,
//          4096x1024 f32: sums of rows, of columns and of all, matrix times vector and vector times matrix read 25.6
//          to 26.9 GB/s, maxima of rows 22.1, where NumPy's best sum read 25.6 (AVX2 code: 24.2 to 26.2). At 4096x4096
//          in pages of 4 KiB 14.5 to 19.1, .57 to .9 of NumPy's sum (AVX2: 12.2 to 16.9). Softmax as multiples of
//          PyTorch 2.13: 1024x1024 1.38 (AVX2 1.58), 8x12x128x128 1.21 (1.67), 64x77 1.48 (1.83). About .1 s to
//          compile.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole, unused-handle

module attributes {transform.with_named_sequence} {
  transform.named_sequence @schedule_reductions(%root: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) {
    // Loops of one iteration would hide rows, and dropping them later would lose the marks of the ops.
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
    } : !transform.any_op
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @order_loops failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @split_searches failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @reduce_four_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @find_row_values failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @find_row_chains failures(propagate) (%root) : (!transform.any_op) -> ()
    // What reduces otherwise, or is read by other rows than its own, is computed before any row: in loops it is fused
    // into none.
    transform.include @relax_softmax failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @cut_into_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @fuse_row_chains failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Mark what gives one value a row: reductions along the innermost loop, and ops that work by elements on their results.
  transform.named_sequence private @find_row_values(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %ops @reduces_innermost -> @mark_writes,
      @reduces_few -> @leave_whole, @reduces_any -> @mark_to_cut
      : (!transform.any_op) -> !transform.any_op
    %rows_2 = transform.structured.match attributes {writes = affine_map<(d0, d1) -> (d0)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %rows_3 = transform.structured.match attributes {writes = affine_map<(d0, d1, d2) -> (d0, d1)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %rows_4 = transform.structured.match attributes {writes = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %rows_5 = transform.structured.match attributes {writes = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2,
      d3)>} in %root
      : (!transform.any_op) -> !transform.any_op
    %rows = transform.merge_handles %rows_2, %rows_3, %rows_4, %rows_5 : !transform.any_op
    %not = transform.param.constant "no" -> !transform.any_param
    transform.annotate %rows "row_value" : !transform.any_op
    transform.annotate %rows "to_cut" = %not : !transform.any_op, !transform.any_param
    %ops_0 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_0 = transform.foreach_match restrict_root in %ops_0 @maps_result_0 -> @note_value : (!transform.any_op) -> !transform.any_op
    %ops_1 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_1 = transform.foreach_match restrict_root in %ops_1 @maps_result_1 -> @note_value : (!transform.any_op) -> !transform.any_op
    %ops_2 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_2 = transform.foreach_match restrict_root in %ops_2 @maps_result_2 -> @note_value : (!transform.any_op) -> !transform.any_op
    %ops_3 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_3 = transform.foreach_match restrict_root in %ops_3 @maps_result_0 -> @note_value : (!transform.any_op) -> !transform.any_op
    %ops_4 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_4 = transform.foreach_match restrict_root in %ops_4 @maps_result_1 -> @note_value : (!transform.any_op) -> !transform.any_op
    %ops_5 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_5 = transform.foreach_match restrict_root in %ops_5 @maps_result_2 -> @note_value : (!transform.any_op) -> !transform.any_op
    // A value that is read by other rows is no longer one of its row.
    %ops_6 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_6 = transform.foreach_match restrict_root in %ops_6 @reads_result_0 -> @note_misread : (!transform.any_op) -> !transform.any_op
    %ops_7 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_7 = transform.foreach_match restrict_root in %ops_7 @reads_result_1 -> @note_misread : (!transform.any_op) -> !transform.any_op
    %ops_8 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_8 = transform.foreach_match restrict_root in %ops_8 @reads_result_2 -> @note_misread : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @reduces_innermost(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    %map, %loops = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[-1] {reduction} : !transform.any_op
      transform.match.structured.dim %linalg[except(-1)] {parallel} : !transform.any_op
      %map_in = transform.match.structured.init %linalg[0] : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in, %loops_in : !transform.affine_map, !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %two : !transform.param<i64>
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_any(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[-1] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @maps_result_0(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op) {
    %map, %producer = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in : !transform.affine_map, !transform.any_op
    }
    transform.yield %op, %map, %producer : !transform.any_op, !transform.affine_map, !transform.any_op
  }
  transform.named_sequence private @reads_result_0(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op) {
    %map, %producer = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op) {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in : !transform.affine_map, !transform.any_op
    }
    transform.yield %op, %map, %producer : !transform.any_op, !transform.affine_map, !transform.any_op
  }
  transform.named_sequence private @reads_row_value_0(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op, !transform.param<i64>) {
    %map, %producer, %loops = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[except(-1)] {parallel} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in, %loops_in : !transform.affine_map, !transform.any_op, !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %two : !transform.param<i64>
    transform.yield %op, %map, %producer, %loops : !transform.any_op, !transform.affine_map, !transform.any_op, !transform.param<i64>
  }
  transform.named_sequence private @maps_result_1(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op) {
    %map, %producer = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in : !transform.affine_map, !transform.any_op
    }
    transform.yield %op, %map, %producer : !transform.any_op, !transform.affine_map, !transform.any_op
  }
  transform.named_sequence private @reads_result_1(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op) {
    %map, %producer = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op) {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in : !transform.affine_map, !transform.any_op
    }
    transform.yield %op, %map, %producer : !transform.any_op, !transform.affine_map, !transform.any_op
  }
  transform.named_sequence private @reads_row_value_1(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op, !transform.param<i64>) {
    %map, %producer, %loops = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[except(-1)] {parallel} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in, %loops_in : !transform.affine_map, !transform.any_op, !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %two : !transform.param<i64>
    transform.yield %op, %map, %producer, %loops : !transform.any_op, !transform.affine_map, !transform.any_op, !transform.param<i64>
  }
  transform.named_sequence private @maps_result_2(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op) {
    %map, %producer = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op) {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[2] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[2] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in : !transform.affine_map, !transform.any_op
    }
    transform.yield %op, %map, %producer : !transform.any_op, !transform.affine_map, !transform.any_op
  }
  transform.named_sequence private @reads_result_2(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op) {
    %map, %producer = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op) {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[2] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[2] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in : !transform.affine_map, !transform.any_op
    }
    transform.yield %op, %map, %producer : !transform.any_op, !transform.affine_map, !transform.any_op
  }
  transform.named_sequence private @reads_row_value_2(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map, !transform.any_op, !transform.param<i64>) {
    %map, %producer, %loops = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.affine_map, !transform.any_op, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[except(-1)] {parallel} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[2] : (!transform.any_op) -> !transform.affine_map
      %producer_in = transform.match.structured.input %linalg[2] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %map_in, %producer_in, %loops_in : !transform.affine_map, !transform.any_op, !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %two : !transform.param<i64>
    transform.yield %op, %map, %producer, %loops : !transform.any_op, !transform.affine_map, !transform.any_op, !transform.param<i64>
  }
  transform.named_sequence private @mark_writes(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "writes" = %map : !transform.any_op, !transform.affine_map
    transform.annotate %op "to_cut" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @leave_whole(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence private @mark_to_cut(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "to_cut" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @note_value(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.include @mark_value failures(suppress) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_value(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.include @mark_value_if failures(propagate) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_value_if(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.annotate %op "map" = %map : !transform.any_op, !transform.affine_map
    %same_0 = transform.structured.match attributes {map = affine_map<(d0) -> (d0)>} in %op : (!transform.any_op) -> !transform.any_op
    %same_1 = transform.structured.match attributes {map = affine_map<(d0, d1) -> (d0, d1)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %same_2 = transform.structured.match attributes {map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %same_3 = transform.structured.match attributes {map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %same = transform.merge_handles %same_0, %same_1, %same_2, %same_3 : !transform.any_op
    %same_found = transform.num_associations %same : (!transform.any_op) -> !transform.param<i64>
    %same_wanted = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %same_found, %same_wanted : !transform.param<i64>
    %value = transform.structured.match attributes {row_value} in %producer : (!transform.any_op) -> !transform.any_op
    %value_found = transform.num_associations %value : (!transform.any_op) -> !transform.param<i64>
    %value_wanted = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %value_found, %value_wanted : !transform.param<i64>
    transform.annotate %op "row_value" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @note_misread(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.include @mark_misread failures(suppress) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_misread(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.include @mark_misread_if failures(propagate) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_misread_if(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.annotate %op "map" = %map : !transform.any_op, !transform.affine_map
    %same_0 = transform.structured.match attributes {map = affine_map<(d0) -> (d0)>} in %op : (!transform.any_op) -> !transform.any_op
    %same_1 = transform.structured.match attributes {map = affine_map<(d0, d1) -> (d0, d1)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %same_2 = transform.structured.match attributes {map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %same_3 = transform.structured.match attributes {map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %same_4 = transform.structured.match attributes {map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3,
      d4)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %same = transform.merge_handles %same_0, %same_1, %same_2, %same_3, %same_4 : !transform.any_op
    %row_0 = transform.structured.match attributes {map = affine_map<(d0, d1) -> (d0)>} in %op : (!transform.any_op) -> !transform.any_op
    %row_1 = transform.structured.match attributes {map = affine_map<(d0, d1, d2) -> (d0, d1)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %row_2 = transform.structured.match attributes {map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %row_3 = transform.structured.match attributes {map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %row = transform.merge_handles %row_0, %row_1, %row_2, %row_3 : !transform.any_op
    %fitting = transform.merge_handles %same, %row : !transform.any_op
    %fitting_found = transform.num_associations %fitting : (!transform.any_op) -> !transform.param<i64>
    %fitting_wanted = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %fitting_found, %fitting_wanted : !transform.param<i64>
    %value = transform.structured.match attributes {row_value} in %producer : (!transform.any_op) -> !transform.any_op
    %value_found = transform.num_associations %value : (!transform.any_op) -> !transform.param<i64>
    %value_wanted = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %value_found, %value_wanted : !transform.param<i64>
    %apart = transform.param.constant "apart" -> !transform.any_param
    transform.annotate %value "row_value" = %apart : !transform.any_op, !transform.any_param
    transform.annotate %value "to_cut" : !transform.any_op
    transform.yield
  }

  // Mark ops that read a value of their row, and among them those that end a chain.
  transform.named_sequence private @find_row_chains(%root: !transform.any_op {transform.readonly}) {
    %ops_0 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_0 = transform.foreach_match restrict_root in %ops_0 @reads_row_value_0 -> @note_member : (!transform.any_op) -> !transform.any_op
    %ops_1 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_1 = transform.foreach_match restrict_root in %ops_1 @reads_row_value_1 -> @note_member : (!transform.any_op) -> !transform.any_op
    %ops_2 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_2 = transform.foreach_match restrict_root in %ops_2 @reads_row_value_2 -> @note_member : (!transform.any_op) -> !transform.any_op
    %ops_3 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_3 = transform.foreach_match restrict_root in %ops_3 @reads_result_0 -> @note_inner : (!transform.any_op) -> !transform.any_op
    %ops_4 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_4 = transform.foreach_match restrict_root in %ops_4 @reads_result_1 -> @note_inner : (!transform.any_op) -> !transform.any_op
    %ops_5 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_5 = transform.foreach_match restrict_root in %ops_5 @reads_result_2 -> @note_inner : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @note_member(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly},
      %loops: !transform.param<i64> {transform.readonly}) {
    transform.include @mark_member failures(suppress) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.annotate %op "row_loops" = %loops : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @mark_member(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.include @mark_member_if failures(propagate) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_member_if(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.annotate %op "map" = %map : !transform.any_op, !transform.affine_map
    %row_0 = transform.structured.match attributes {map = affine_map<(d0, d1) -> (d0)>} in %op : (!transform.any_op) -> !transform.any_op
    %row_1 = transform.structured.match attributes {map = affine_map<(d0, d1, d2) -> (d0, d1)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %row_2 = transform.structured.match attributes {map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %row_3 = transform.structured.match attributes {map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>} in %op
      : (!transform.any_op) -> !transform.any_op
    %row = transform.merge_handles %row_0, %row_1, %row_2, %row_3 : !transform.any_op
    %row_found = transform.num_associations %row : (!transform.any_op) -> !transform.param<i64>
    %row_wanted = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %row_found, %row_wanted : !transform.param<i64>
    %value = transform.structured.match attributes {row_value} in %producer : (!transform.any_op) -> !transform.any_op
    %value_found = transform.num_associations %value : (!transform.any_op) -> !transform.param<i64>
    %value_wanted = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %value_found, %value_wanted : !transform.param<i64>
    transform.annotate %op "row_member" : !transform.any_op
    transform.annotate %op "row_chain" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @note_inner(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.include @mark_inner failures(suppress) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_inner(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    transform.include @mark_inner_if failures(propagate) (%op, %map, %producer)
      : (!transform.any_op, !transform.affine_map, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_inner_if(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}, %producer: !transform.any_op {transform.readonly}) {
    %chain = transform.structured.match attributes {row_chain} in %op : (!transform.any_op) -> !transform.any_op
    %also = transform.structured.match attributes {row_value} in %op : (!transform.any_op) -> !transform.any_op
    %either = transform.merge_handles %chain, %also : !transform.any_op
    %either_found = transform.num_associations %either : (!transform.any_op) -> !transform.param<i64>
    %either_wanted = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %either_found, %either_wanted : !transform.param<i64>
    %inner = transform.structured.match attributes {row_chain} in %producer : (!transform.any_op) -> !transform.any_op
    %way = transform.param.constant "inner" -> !transform.any_param
    transform.annotate %inner "row_member" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }

  // Let exponentials in a softmax be approximations of 2 ulp, and its quotients products with the reciprocal of their
  // divisor: that is a sum of which one term is 1, so that it has a reciprocal.
  transform.named_sequence private @relax_softmax(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match attributes {row_chain} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %ops @divides_by_row_sum -> @note_softmax : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @divides_by_row_sum(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op) {
    %raised, %total = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op) {
    ^bb0(%quotient: !transform.any_op):
      transform.match.structured.dim %quotient[all] {parallel} : !transform.any_op
      %raised_in = transform.match.structured.input %quotient[0] : (!transform.any_op) -> !transform.any_op
      %total_in = transform.match.structured.input %quotient[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %raised_in, %total_in : !transform.any_op, !transform.any_op
    }
    transform.match.operation_name %raised ["linalg.generic"] : !transform.any_op
    transform.match.operation_name %total ["linalg.generic"] : !transform.any_op
    %added = transform.match.structured failures(propagate) %total : (!transform.any_op) -> !transform.any_op {
    ^bb0(%sum: !transform.any_op):
      transform.match.structured.dim %sum[-1] {reduction} : !transform.any_op
      %added_in = transform.match.structured.input %sum[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %added_in : !transform.any_op
    }
    %largest = transform.match.structured failures(propagate) %raised : (!transform.any_op) -> !transform.any_op {
    ^bb0(%exponential: !transform.any_op):
      transform.match.structured.dim %exponential[all] {parallel} : !transform.any_op
      %largest_in = transform.match.structured.input %exponential[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %largest_in : !transform.any_op
    }
    transform.match.operation_name %largest ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %largest : !transform.any_op {
    ^bb0(%maximum: !transform.any_op):
      transform.match.structured.dim %maximum[-1] {reduction} : !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %op, %raised, %total, %added, %largest
      : !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op
  }
  transform.named_sequence private @note_softmax(%quotient: !transform.any_op {transform.readonly},
      %raised: !transform.any_op {transform.readonly}, %total: !transform.any_op {transform.readonly},
      %added: !transform.any_op {transform.readonly}, %largest: !transform.any_op {transform.readonly}) {
    transform.include @mark_softmax failures(suppress) (%quotient, %raised, %total, %added, %largest)
      : (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_softmax(%quotient: !transform.any_op {transform.readonly},
      %raised: !transform.any_op {transform.readonly}, %total: !transform.any_op {transform.readonly},
      %added: !transform.any_op {transform.readonly}, %largest: !transform.any_op {transform.readonly}) {
    transform.include @mark_softmax_if failures(propagate) (%quotient, %raised, %total, %added, %largest)
      : (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_softmax_if(%quotient: !transform.any_op {transform.readonly},
      %raised: !transform.any_op {transform.readonly}, %total: !transform.any_op {transform.readonly},
      %added: !transform.any_op {transform.readonly}, %largest: !transform.any_op {transform.readonly}) {
    // Each step has to be there once; all that is in the bodies decides.
    transform.annotate %raised "raised" : !transform.any_op
    %same = transform.structured.match attributes {raised} in %added : (!transform.any_op) -> !transform.any_op
    %maxima = transform.structured.match ops{["arith.maxnumf", "arith.maximumf"]} in %largest : (!transform.any_op) -> !transform.any_op
    %differences = transform.structured.match ops{["arith.subf"]} in %raised : (!transform.any_op) -> !transform.any_op
    %exponentials = transform.structured.match ops{["math.exp"]} in %raised : (!transform.any_op) -> !transform.any_op
    %additions = transform.structured.match ops{["arith.addf"]} in %total : (!transform.any_op) -> !transform.any_op
    %quotients = transform.structured.match ops{["arith.divf"]} in %quotient : (!transform.any_op) -> !transform.any_op
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    %number_of_same = transform.num_associations %same : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %number_of_same, %one : !transform.param<i64>
    %number_of_maxima = transform.num_associations %maxima : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %number_of_maxima, %one : !transform.param<i64>
    %number_of_differences = transform.num_associations %differences : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %number_of_differences, %one : !transform.param<i64>
    %number_of_exponentials = transform.num_associations %exponentials : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %number_of_exponentials, %one : !transform.param<i64>
    %number_of_additions = transform.num_associations %additions : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %number_of_additions, %one : !transform.param<i64>
    %number_of_quotients = transform.num_associations %quotients : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %number_of_quotients, %one : !transform.param<i64>
    %approximate = transform.param.constant #arith.fastmath<afn> -> !transform.any_param
    %by_reciprocal = transform.param.constant #arith.fastmath<arcp> -> !transform.any_param
    transform.annotate %exponentials "fastmath" = %approximate : !transform.any_op, !transform.any_param
    transform.annotate %quotients "fastmath" = %by_reciprocal : !transform.any_op, !transform.any_param
    transform.yield
  }

  // Compute each chain row by row, and with each row all that it is computed from; temporaries are of a row.
  transform.named_sequence private @fuse_row_chains(%root: !transform.any_op {transform.readonly}) {
    %ends_2 = transform.structured.match attributes {row_member, row_loops = 2} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %ends_2 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_fuse_rows_2 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %ends_3 = transform.structured.match attributes {row_member, row_loops = 3} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %ends_3 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_fuse_rows_3 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %ends_4 = transform.structured.match attributes {row_member, row_loops = 4} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %ends_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_fuse_rows_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %ends_5 = transform.structured.match attributes {row_member, row_loops = 5} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %ends_5 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_fuse_rows_5 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_tensor_empty
    } : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @try_fuse_rows_2(%op: !transform.any_op {transform.consumed}) {
    transform.include @fuse_rows_2 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @fuse_rows_2(%op: !transform.any_op {transform.consumed}) {
    %row, %loops:1 = transform.structured.fuse %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence private @try_fuse_rows_3(%op: !transform.any_op {transform.consumed}) {
    transform.include @fuse_rows_3 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @fuse_rows_3(%op: !transform.any_op {transform.consumed}) {
    %row, %loops:2 = transform.structured.fuse %op tile_sizes [1, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence private @try_fuse_rows_4(%op: !transform.any_op {transform.consumed}) {
    transform.include @fuse_rows_4 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @fuse_rows_4(%op: !transform.any_op {transform.consumed}) {
    %row, %loops:3 = transform.structured.fuse %op tile_sizes [1, 1, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence private @try_fuse_rows_5(%op: !transform.any_op {transform.consumed}) {
    transform.include @fuse_rows_5 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @fuse_rows_5(%op: !transform.any_op {transform.consumed}) {
    %row, %loops:4 = transform.structured.fuse %op tile_sizes [1, 1, 1, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }

  // In parts/argmax.mlir:
  transform.named_sequence private @split_searches(!transform.any_op {transform.readonly})
  // In parts/four_rows.mlir:
  transform.named_sequence private @reduce_four_rows(!transform.any_op {transform.readonly})
  // In parts/loop_order.mlir:
  transform.named_sequence private @reduces_few(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @order_loops(!transform.any_op {transform.readonly})
  // In parts/outer_loops.mlir:
  transform.named_sequence private @cut_into_rows(!transform.any_op {transform.readonly})
  // In parts/inner.mlir:
  transform.named_sequence private @vectorize_rows_of_any(!transform.any_op {transform.readonly},
      !transform.param<i64> {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
