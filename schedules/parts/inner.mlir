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

  // Make generics of all named ops on tensors but fills, which fold into slices as they are, and give each generic of
  // one to six loops the order of loops in which it writes its result, or reads what it reduces, one element after
  // the other.
  transform.named_sequence @order_loops(%root: !transform.any_op {transform.readonly}) {
    %softmaxes = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %softmaxes : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_decompose failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %structured = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %structured : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @mark_if_on_tensors failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %on_tensors = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %on_tensors @is_fill -> @leave_named, @is_linalg -> @mark_named : (!transform.any_op) -> !transform.any_op
    %named = transform.structured.match attributes {named} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %named : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_generalize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %generics = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %ordered = transform.foreach_match restrict_root in %generics
      @writes_elements -> @mark_order, @reduces_input_0 -> @mark_order, @reduces_input_1 -> @mark_order,
      @reduces_input_2 -> @mark_order, @reduces_windows -> @mark_windows : (!transform.any_op) -> !transform.any_op
    %p0 = transform.structured.match attributes {order = affine_map<(d0, d1) -> (d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i0 = transform.structured.interchange %p0 iterator_interchange = [1, 0] : (!transform.any_op) -> !transform.any_op
    %p1 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d0, d2, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i1 = transform.structured.interchange %p1 iterator_interchange = [0, 2, 1] : (!transform.any_op) -> !transform.any_op
    %p2 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d1, d0, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i2 = transform.structured.interchange %p2 iterator_interchange = [1, 0, 2] : (!transform.any_op) -> !transform.any_op
    %p3 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d1, d2, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i3 = transform.structured.interchange %p3 iterator_interchange = [1, 2, 0] : (!transform.any_op) -> !transform.any_op
    %p4 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d2, d0, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i4 = transform.structured.interchange %p4 iterator_interchange = [2, 0, 1] : (!transform.any_op) -> !transform.any_op
    %p5 = transform.structured.match attributes {order = affine_map<(d0, d1, d2) -> (d2, d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i5 = transform.structured.interchange %p5 iterator_interchange = [2, 1, 0] : (!transform.any_op) -> !transform.any_op
    %p6 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i6 = transform.structured.interchange %p6 iterator_interchange = [0, 1, 3, 2] : (!transform.any_op) -> !transform.any_op
    %p7 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>} in %root : (!transform.any_op) -> !transform.any_op
    %i7 = transform.structured.interchange %p7 iterator_interchange = [0, 2, 1, 3] : (!transform.any_op) -> !transform.any_op
    %p8 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i8 = transform.structured.interchange %p8 iterator_interchange = [0, 2, 3, 1] : (!transform.any_op) -> !transform.any_op
    %p9 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i9 = transform.structured.interchange %p9 iterator_interchange = [0, 3, 1, 2] : (!transform.any_op) -> !transform.any_op
    %p10 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i10 = transform.structured.interchange %p10 iterator_interchange = [0, 3, 2, 1] : (!transform.any_op) -> !transform.any_op
    %p11 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d0, d2, d3)>} in %root : (!transform.any_op) -> !transform.any_op
    %i11 = transform.structured.interchange %p11 iterator_interchange = [1, 0, 2, 3] : (!transform.any_op) -> !transform.any_op
    %p12 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i12 = transform.structured.interchange %p12 iterator_interchange = [1, 0, 3, 2] : (!transform.any_op) -> !transform.any_op
    %p13 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d2, d0, d3)>} in %root : (!transform.any_op) -> !transform.any_op
    %i13 = transform.structured.interchange %p13 iterator_interchange = [1, 2, 0, 3] : (!transform.any_op) -> !transform.any_op
    %p14 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i14 = transform.structured.interchange %p14 iterator_interchange = [1, 2, 3, 0] : (!transform.any_op) -> !transform.any_op
    %p15 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d3, d0, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i15 = transform.structured.interchange %p15 iterator_interchange = [1, 3, 0, 2] : (!transform.any_op) -> !transform.any_op
    %p16 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i16 = transform.structured.interchange %p16 iterator_interchange = [1, 3, 2, 0] : (!transform.any_op) -> !transform.any_op
    %p17 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>} in %root : (!transform.any_op) -> !transform.any_op
    %i17 = transform.structured.interchange %p17 iterator_interchange = [2, 0, 1, 3] : (!transform.any_op) -> !transform.any_op
    %p18 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d0, d3, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i18 = transform.structured.interchange %p18 iterator_interchange = [2, 0, 3, 1] : (!transform.any_op) -> !transform.any_op
    %p19 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d1, d0, d3)>} in %root : (!transform.any_op) -> !transform.any_op
    %i19 = transform.structured.interchange %p19 iterator_interchange = [2, 1, 0, 3] : (!transform.any_op) -> !transform.any_op
    %p20 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d1, d3, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i20 = transform.structured.interchange %p20 iterator_interchange = [2, 1, 3, 0] : (!transform.any_op) -> !transform.any_op
    %p21 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d3, d0, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i21 = transform.structured.interchange %p21 iterator_interchange = [2, 3, 0, 1] : (!transform.any_op) -> !transform.any_op
    %p22 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i22 = transform.structured.interchange %p22 iterator_interchange = [2, 3, 1, 0] : (!transform.any_op) -> !transform.any_op
    %p23 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d0, d1, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i23 = transform.structured.interchange %p23 iterator_interchange = [3, 0, 1, 2] : (!transform.any_op) -> !transform.any_op
    %p24 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d0, d2, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i24 = transform.structured.interchange %p24 iterator_interchange = [3, 0, 2, 1] : (!transform.any_op) -> !transform.any_op
    %p25 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d1, d0, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i25 = transform.structured.interchange %p25 iterator_interchange = [3, 1, 0, 2] : (!transform.any_op) -> !transform.any_op
    %p26 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i26 = transform.structured.interchange %p26 iterator_interchange = [3, 1, 2, 0] : (!transform.any_op) -> !transform.any_op
    %p27 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d2, d0, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    %i27 = transform.structured.interchange %p27 iterator_interchange = [3, 2, 0, 1] : (!transform.any_op) -> !transform.any_op
    %p28 = transform.structured.match attributes {order = affine_map<(d0, d1, d2, d3) -> (d3, d2, d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    %i28 = transform.structured.interchange %p28 iterator_interchange = [3, 2, 1, 0] : (!transform.any_op) -> !transform.any_op
    %p29 = transform.structured.match attributes {windows = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    %i29 = transform.structured.interchange %p29 iterator_interchange = [0, 1, 3, 2] : (!transform.any_op) -> !transform.any_op
    %p30 = transform.structured.match attributes {windows = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>} in %root : (!transform.any_op) -> !transform.any_op
    %i30 = transform.structured.interchange %p30 iterator_interchange = [0, 1, 2, 4, 5, 3] : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @try_decompose(%op: !transform.any_op {transform.consumed}) {
    transform.include @decompose failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @decompose(%op: !transform.any_op {transform.consumed}) {
    %parts = transform.structured.decompose_interface %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @try_generalize(%op: !transform.any_op {transform.consumed}) {
    transform.include @generalize failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @generalize(%op: !transform.any_op {transform.consumed}) {
    %generic = transform.structured.generalize %op : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_if_on_tensors(%op: !transform.any_op {transform.readonly}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.annotate %same "on_tensors" : !transform.any_op
    transform.yield
  }
  // What a schedule has put aside is marked so.
  transform.named_sequence private @has_result_and_is_not_aside(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %same = transform.include @has_result failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    %aside = transform.structured.match attributes {aside} in %op : (!transform.any_op) -> !transform.any_op
    %marks = transform.num_associations %aside : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %marks, %none : !transform.param<i64>
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @has_result(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %result = transform.get_result %op[0] : (!transform.any_op) -> !transform.any_value
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @leave_named(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "is_fill" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @is_linalg(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%linalg: !transform.any_op):
      
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_named(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "named" : !transform.any_op
    transform.yield
  }
  // Matchers of the operand that says in which order loops run, with its map.
  transform.named_sequence private @writes_elements(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      %map_in = transform.match.structured.init %linalg[0] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_input_0(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[0] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_input_1(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[1] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_input_2(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.input %linalg[2] {permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reduces_windows(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      %map_in = transform.match.structured.init %linalg[0] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @mark_order(%op: !transform.any_op {transform.readonly}, %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "order" = %map : !transform.any_op, !transform.affine_map
    transform.yield
  }
  transform.named_sequence private @mark_windows(%op: !transform.any_op {transform.readonly}, %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "windows" = %map : !transform.any_op, !transform.affine_map
    transform.yield
  }

  // Mark each loop but the innermost one of each op on tensors by what it is.
  transform.named_sequence private @mark_loops(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s0 = transform.foreach_match restrict_root in %ops @loop_0_is_parallel -> @mark_parallel_0, @loop_0_is_reduction -> @mark_reduction_0 : (!transform.any_op) -> !transform.any_op
    %ops1 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s1 = transform.foreach_match restrict_root in %ops1 @loop_1_is_parallel -> @mark_parallel_1, @loop_1_is_reduction -> @mark_reduction_1 : (!transform.any_op) -> !transform.any_op
    %ops2 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s2 = transform.foreach_match restrict_root in %ops2 @loop_2_is_parallel -> @mark_parallel_2, @loop_2_is_reduction -> @mark_reduction_2 : (!transform.any_op) -> !transform.any_op
    %ops3 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s3 = transform.foreach_match restrict_root in %ops3 @loop_3_is_parallel -> @mark_parallel_3, @loop_3_is_reduction -> @mark_reduction_3 : (!transform.any_op) -> !transform.any_op
    %ops4 = transform.structured.match attributes {to_cut} in %root : (!transform.any_op) -> !transform.any_op
    %s4 = transform.foreach_match restrict_root in %ops4 @loop_4_is_parallel -> @mark_parallel_4, @loop_4_is_reduction -> @mark_reduction_4 : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @loop_0_is_parallel(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[0] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_parallel_0(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "parallel" -> !transform.any_param
    transform.annotate %op "loop_0" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_0_is_reduction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[0] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_reduction_0(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "reduction" -> !transform.any_param
    transform.annotate %op "loop_0" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_1_is_parallel(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[1] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_parallel_1(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "parallel" -> !transform.any_param
    transform.annotate %op "loop_1" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_1_is_reduction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[1] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_reduction_1(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "reduction" -> !transform.any_param
    transform.annotate %op "loop_1" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_2_is_parallel(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[2] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_parallel_2(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "parallel" -> !transform.any_param
    transform.annotate %op "loop_2" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_2_is_reduction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[2] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_reduction_2(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "reduction" -> !transform.any_param
    transform.annotate %op "loop_2" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_3_is_parallel(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[3] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_parallel_3(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "parallel" -> !transform.any_param
    transform.annotate %op "loop_3" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_3_is_reduction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[3] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_reduction_3(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "reduction" -> !transform.any_param
    transform.annotate %op "loop_3" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_4_is_parallel(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[4] {parallel} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_parallel_4(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "parallel" -> !transform.any_param
    transform.annotate %op "loop_4" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @loop_4_is_reduction(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.dim %linalg[4] {reduction} : !transform.any_op
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %outer = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %loops, %outer : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_reduction_4(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "reduction" -> !transform.any_param
    transform.annotate %op "loop_4" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }

  // Mark the loop along which another operand than the result is contiguous, so that tiles span it too.
  transform.named_sequence private @mark_crossings(%root: !transform.any_op {transform.readonly}) {
    %ops_0 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_0 = transform.foreach_match restrict_root in %ops_0 @reads_input_0 -> @mark_read : (!transform.any_op) -> !transform.any_op
    transform.include @mark_crossed_loop failures(propagate) (%root) : (!transform.any_op) -> ()
    %ops_1 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_1 = transform.foreach_match restrict_root in %ops_1 @reads_input_1 -> @mark_read : (!transform.any_op) -> !transform.any_op
    transform.include @mark_crossed_loop failures(propagate) (%root) : (!transform.any_op) -> ()
    %ops_2 = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen_2 = transform.foreach_match restrict_root in %ops_2 @reads_input_2 -> @mark_read : (!transform.any_op) -> !transform.any_op
    transform.include @mark_crossed_loop failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @reads_input_0(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.input %linalg[all] {projected_permutation} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[0] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reads_input_1(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.input %linalg[all] {projected_permutation} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[1] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reads_input_2(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.affine_map) {
    %map = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.affine_map {
    ^bb0(%linalg: !transform.any_op):
      transform.match.structured.dim %linalg[all] {parallel} : !transform.any_op
      transform.match.structured.input %linalg[all] {projected_permutation} : !transform.any_op
      %map_in = transform.match.structured.input %linalg[2] {projected_permutation} : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %map_in : !transform.affine_map
    }
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @mark_read(%op: !transform.any_op {transform.readonly}, %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "read" = %map : !transform.any_op, !transform.affine_map
    transform.yield
  }
  transform.named_sequence private @mark_crossed_loop(%root: !transform.any_op {transform.readonly}) {
    %crossed = transform.param.constant "crossed" -> !transform.any_param
    %m0 = transform.structured.match attributes {read = affine_map<(d0, d1) -> (d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m0 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m1 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m1 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m2 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m2 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m3 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d0, d2, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m3 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m4 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d1, d2, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m4 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m5 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d0, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m5 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m6 = transform.structured.match attributes {read = affine_map<(d0, d1, d2) -> (d2, d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m6 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m7 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m7 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m8 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m8 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m9 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m9 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m10 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m10 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m11 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m11 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m12 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m12 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m13 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d3, d0, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m13 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m14 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m14 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m15 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d0, d3, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m15 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m16 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d1, d3, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m16 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m17 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d3, d0, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m17 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m18 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m18 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m19 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d0, d1, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m19 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m20 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d0, d2, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m20 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m21 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d1, d0, d2)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m21 "loop_2" = %crossed : !transform.any_op, !transform.any_param
    %m22 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m22 "loop_0" = %crossed : !transform.any_op, !transform.any_param
    %m23 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d2, d0, d1)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m23 "loop_1" = %crossed : !transform.any_op, !transform.any_param
    %m24 = transform.structured.match attributes {read = affine_map<(d0, d1, d2, d3) -> (d3, d2, d1, d0)>} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %m24 "loop_0" = %crossed : !transform.any_op, !transform.any_param
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
    %rows = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %rows, %tile @is_scalar -> @mark_short, @maps_short_row -> @mark_short, @maps_row -> @mark_map, @maps_few_rows -> @mark_small_square, @maps_rows -> @mark_square, @reduces_short_row -> @mark_short_sum, @reduces_row -> @mark_sum
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
    %long_1 = transform.structured.match attributes {row_sum = 1, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_1_16 = transform.include @if_lanes_16 failures(suppress) (%long_1, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %long_1_8 = transform.include @if_lanes_8 failures(suppress) (%long_1, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %long_1_4 = transform.include @if_lanes_4 failures(suppress) (%long_1, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_1_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %long_1_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %long_1_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_1 = transform.structured.match attributes {row_sum = 1, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_1_16 = transform.include @if_lanes_16 failures(suppress) (%short_1, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %short_1_8 = transform.include @if_lanes_8 failures(suppress) (%short_1, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %short_1_4 = transform.include @if_lanes_4 failures(suppress) (%short_1, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_1_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %short_1_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %short_1_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_2 = transform.structured.match attributes {row_sum = 2, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_2_16 = transform.include @if_lanes_16 failures(suppress) (%long_2, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %long_2_8 = transform.include @if_lanes_8 failures(suppress) (%long_2, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %long_2_4 = transform.include @if_lanes_4 failures(suppress) (%long_2, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_2_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %long_2_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %long_2_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_2 = transform.structured.match attributes {row_sum = 2, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_2_16 = transform.include @if_lanes_16 failures(suppress) (%short_2, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %short_2_8 = transform.include @if_lanes_8 failures(suppress) (%short_2, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %short_2_4 = transform.include @if_lanes_4 failures(suppress) (%short_2, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_2_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %short_2_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %short_2_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_3 = transform.structured.match attributes {row_sum = 3, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_3_16 = transform.include @if_lanes_16 failures(suppress) (%long_3, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %long_3_8 = transform.include @if_lanes_8 failures(suppress) (%long_3, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %long_3_4 = transform.include @if_lanes_4 failures(suppress) (%long_3, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_3_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %long_3_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %long_3_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_3 = transform.structured.match attributes {row_sum = 3, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_3_16 = transform.include @if_lanes_16 failures(suppress) (%short_3, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %short_3_8 = transform.include @if_lanes_8 failures(suppress) (%short_3, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %short_3_4 = transform.include @if_lanes_4 failures(suppress) (%short_3, %lanes) : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_3_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.foreach %short_3_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
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
  transform.named_sequence private @try_partial_sums_1_64(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_64 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_64(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_1_32(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_32 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_32(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_1_16(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_16 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_16(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_1_8(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_8 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_8(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_1_4(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_1_4 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_1_4(%op: !transform.any_op {transform.consumed}) {
    %all:4 = transform.structured.tile_reduction_using_for %op by tile_sizes = [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#2 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#1, %all#3) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_2_64(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_64 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_64(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_2_32(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_32 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_32(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_2_16(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_16 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_16(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_2_8(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_8 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_8(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_2_4(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_2_4 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_2_4(%op: !transform.any_op {transform.consumed}) {
    %all:6 = transform.structured.tile_reduction_using_for %op by tile_sizes = [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#3, %all#4 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#2, %all#5) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_3_64(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_64 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_64(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_3_32(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_32 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_32(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_3_16(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_16 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_16(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_3_8(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_8 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_8(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @try_partial_sums_3_4(%op: !transform.any_op {transform.consumed}) {
    transform.include @partial_sums_3_4 failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @partial_sums_3_4(%op: !transform.any_op {transform.consumed}) {
    %all:8 = transform.structured.tile_reduction_using_for %op by tile_sizes = [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %all#0, %all#1, %all#2, %all#4, %all#5, %all#6 : !transform.any_op
    transform.annotate %ends "any_part" : !transform.any_op
    transform.include @split_off_end failures(propagate) (%all#3, %all#7) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @split_off_end(%part: !transform.any_op {transform.readonly}, %loop: !transform.any_op {transform.consumed}) {
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
    %tiles = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %tiles : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %uneven = transform.structured.match attributes {any_part} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %uneven : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_vectorize_masked failures(suppress) (%op, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    }
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
}
