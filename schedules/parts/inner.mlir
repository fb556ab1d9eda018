// Payload: linalg ops on tensors of one loop, which parts/outer_loops.mlir makes of all others, or of two loops of
//          which one operand is read across.
// Idea:    rows are cut into tiles of four vectors of f32 (as many elements of other types), maps along rows of 1024
//          elements and more into tiles of two where a vector has 512 bits, of 256 elements and more into tiles of one
//          where it has 256 bits and the body no functions, with the end split off.
//          Sums along the row are kept in as many partial ones (parts/partial_sums.mlir); sums of rows are added to a
//          row that stays in the first-level cache, or in registers where it is short. What reads an operand across
//          is cut into squares of 16x16, which are transposed in registers and written by whole lines, in blocks of
//          128x32, so that pages are used while they are near. Only what is marked "any_part" or "square_part" becomes a vector
//          (parts/vector_tiles.mlir): none is longer than a tile. Strides along the row, and what else cannot be a
//          vector, stay loops.
// Knobs:   none; %lanes is the number of f32 in a vector.
// Result:  those of reductions.mlir and elementwise.mlir.
// What a payload does not have is not found, and tiles may be larger than what they cut.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole, unused-handle

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

  // Cut what has one loop into tiles along it, reductions into partial ones for each element of a tile; both the whole
  // tiles and what is left at the end may become vectors.
  transform.named_sequence @vectorize_rows_of_any(%root: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) {
    %tile = transform.include @tile_of_lanes failures(propagate) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    transform.include @mark_ops_on_tensors failures(propagate) (%root) : (!transform.any_op) -> ()
    %all = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %all : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @leave_in_loops failures(propagate) (%op) : (!transform.any_op) -> ()
    }
    %ops = transform.structured.match attributes {on_tensors} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %ops, %tile @is_scalar -> @mark_short,
      @maps_short_row -> @mark_short, @maps_unknown_row -> @mark_unknown_map, @maps_long_row -> @mark_long_map,
      @maps_long_row_of_8 -> @mark_long_map_of_8, @maps_row -> @mark_map, @maps_few_rows -> @mark_small_square,
      @maps_rows -> @mark_square, @reduces_few_of_row -> @leave_sum_in_loops, @reduces_short_row -> @mark_short_sum, @reduces_row -> @mark_sum
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %small = transform.structured.match attributes {small_square} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %small : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_square failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %squares = transform.structured.match attributes {row_square} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %squares : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_block failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_maps_of_8 = transform.structured.match attributes {row_map = "long of 8"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %long_maps_of_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @keep_if_costly failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %cheap_maps = transform.structured.match attributes {row_map = "long of 8"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %cheap_maps : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_map failures(suppress) (%op, %lanes) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %maps = transform.structured.match attributes {row_map} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %maps : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_map failures(suppress) (%op, %tile) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %two_vectors = transform.param.constant 32 : i64 -> !transform.param<i64>
    %long_maps = transform.structured.match attributes {row_map = "long"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %long_maps : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @cut_map failures(suppress) (%op, %two_vectors) : (!transform.any_op, !transform.param<i64>) -> ()
    }
    %unknown_maps = transform.structured.match attributes {row_map = "unknown"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %unknown_maps : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_cut_unknown_map failures(suppress) (%op, %tile, %lanes)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    }
    // Each width of vectors looks for its ops anew: a handle kept beside one that is consumed would be dead.
    %long_1_of_16 = transform.structured.match attributes {row_sum = 1, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_1_16 = transform.include @if_lanes_16 failures(suppress) (%long_1_of_16, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_1_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_1_of_8 = transform.structured.match attributes {row_sum = 1, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_1_8 = transform.include @if_lanes_8 failures(suppress) (%long_1_of_8, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_1_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_1_of_4 = transform.structured.match attributes {row_sum = 1, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_1_4 = transform.include @if_lanes_4 failures(suppress) (%long_1_of_4, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_1_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_1_of_16 = transform.structured.match attributes {row_sum = 1, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_1_16 = transform.include @if_lanes_16 failures(suppress) (%short_1_of_16, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_1_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_1_of_8 = transform.structured.match attributes {row_sum = 1, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_1_8 = transform.include @if_lanes_8 failures(suppress) (%short_1_of_8, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_1_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_1_of_4 = transform.structured.match attributes {row_sum = 1, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_1_4 = transform.include @if_lanes_4 failures(suppress) (%short_1_of_4, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_1_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_1_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_2_of_16 = transform.structured.match attributes {row_sum = 2, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_2_16 = transform.include @if_lanes_16 failures(suppress) (%long_2_of_16, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_2_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_2_of_8 = transform.structured.match attributes {row_sum = 2, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_2_8 = transform.include @if_lanes_8 failures(suppress) (%long_2_of_8, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_2_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_2_of_4 = transform.structured.match attributes {row_sum = 2, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_2_4 = transform.include @if_lanes_4 failures(suppress) (%long_2_of_4, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_2_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_2_of_16 = transform.structured.match attributes {row_sum = 2, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_2_16 = transform.include @if_lanes_16 failures(suppress) (%short_2_of_16, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_2_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_2_of_8 = transform.structured.match attributes {row_sum = 2, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_2_8 = transform.include @if_lanes_8 failures(suppress) (%short_2_of_8, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_2_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_2_of_4 = transform.structured.match attributes {row_sum = 2, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_2_4 = transform.include @if_lanes_4 failures(suppress) (%short_2_of_4, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_2_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_2_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_3_of_16 = transform.structured.match attributes {row_sum = 3, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_3_16 = transform.include @if_lanes_16 failures(suppress) (%long_3_of_16, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_3_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_64 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_3_of_8 = transform.structured.match attributes {row_sum = 3, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_3_8 = transform.include @if_lanes_8 failures(suppress) (%long_3_of_8, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_3_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_32 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %long_3_of_4 = transform.structured.match attributes {row_sum = 3, long} in %root : (!transform.any_op) -> !transform.any_op
    %long_3_4 = transform.include @if_lanes_4 failures(suppress) (%long_3_of_4, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %long_3_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_3_of_16 = transform.structured.match attributes {row_sum = 3, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_3_16 = transform.include @if_lanes_16 failures(suppress) (%short_3_of_16, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_3_16 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_16 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_3_of_8 = transform.structured.match attributes {row_sum = 3, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_3_8 = transform.include @if_lanes_8 failures(suppress) (%short_3_of_8, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_3_8 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_8 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    %short_3_of_4 = transform.structured.match attributes {row_sum = 3, short} in %root : (!transform.any_op) -> !transform.any_op
    %short_3_4 = transform.include @if_lanes_4 failures(suppress) (%short_3_of_4, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.foreach %short_3_4 : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      transform.include @try_partial_sums_3_4 failures(suppress) (%op) : (!transform.any_op) -> ()
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @vectorize_parts failures(propagate) (%root, %tile, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.include @vectorize_squares failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @settle_vectors failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  // What LLVM makes better vectors of than this file.
  transform.named_sequence @leave_in_loops(%op: !transform.any_op {transform.readonly}) {
    transform.include @leave_if_read_backwards failures(suppress) (%op) : (!transform.any_op) -> ()
    transform.include @leave_if_made_of_indices failures(suppress) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @leave_if_read_backwards(%op: !transform.any_op {transform.readonly}) {
    transform.include @leave_read_backwards failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @leave_if_made_of_indices(%op: !transform.any_op {transform.readonly}) {
    transform.include @leave_made_of_indices failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  // Vectors of what is read backwards would be gathered element by element; LLVM reverses those that it makes of a loop.
  transform.named_sequence private @leave_read_backwards(%op: !transform.any_op {transform.readonly}) {
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    %extracted = transform.structured.match ops{["tensor.extract"]} in %op : (!transform.any_op) -> !transform.any_op
    %reads = transform.num_associations %extracted : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi ne %reads, %none : !transform.param<i64>
    %differences = transform.structured.match ops{["arith.subi"]} in %op : (!transform.any_op) -> !transform.any_op
    %backwards = transform.num_associations %differences : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi ne %backwards, %none : !transform.param<i64>
    transform.include @mark_in_loops failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  // Of a loop LLVM adds to what the last index gave, and multiplies no vector; functions that become polynomials take
  // longer than that saves.
  transform.named_sequence private @leave_made_of_indices(%op: !transform.any_op {transform.readonly}) {
    %inputs = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %number = transform.match.structured.num_inputs %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number : !transform.param<i64>
    }
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %inputs, %none : !transform.param<i64>
    %read = transform.structured.match ops{["linalg.index"]} in %op : (!transform.any_op) -> !transform.any_op
    %indices = transform.num_associations %read : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi ne %indices, %none : !transform.param<i64>
    %costly = transform.structured.match ops{["tensor.extract", "math.exp", "math.log", "math.log1p", "math.tanh", "math.erf",
      "math.rsqrt"]} in %op : (!transform.any_op) -> !transform.any_op
    %functions = transform.num_associations %costly : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %functions, %none : !transform.param<i64>
    transform.include @mark_in_loops failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_in_loops(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "in_loops" -> !transform.any_param
    transform.annotate %op "on_tensors" = %mark : !transform.any_op, !transform.any_param
    transform.annotate %op "to_cut" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @if_lanes_16(%ops: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @are_lanes_16 failures(propagate) (%ops, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @are_lanes_16(%ops: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %wanted = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    transform.yield %ops : !transform.any_op
  }
  transform.named_sequence @if_lanes_8(%ops: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @are_lanes_8 failures(propagate) (%ops, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @are_lanes_8(%ops: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %wanted = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    transform.yield %ops : !transform.any_op
  }
  transform.named_sequence private @if_lanes_4(%ops: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @are_lanes_4 failures(propagate) (%ops, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @are_lanes_4(%ops: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %wanted = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %lanes, %wanted : !transform.param<i64>
    transform.yield %ops : !transform.any_op
  }
  transform.named_sequence private @is_scalar(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in : !transform.param<i64>
    }
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %loops, %none : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @maps_short_row(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops, %size = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
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
  transform.named_sequence private @maps_row(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
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
  // LLVM stores the parts of a vector of several registers out of order, which memory takes 1 to 4 % longer for.
  transform.named_sequence private @maps_long_row(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @maps_row failures(propagate) (%op, %tile)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %size = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %size_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size_in : !transform.param<i64>
    }
    %long = transform.param.constant 1024 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %long : !transform.param<i64>
    %four_of_16 = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %tile, %four_of_16 : !transform.param<i64>
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @maps_long_row_of_8(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @maps_row failures(propagate) (%op, %tile)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %size = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %size_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size_in : !transform.param<i64>
    }
    %long = transform.param.constant 256 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %long : !transform.param<i64>
    %four_of_8 = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %tile, %four_of_8 : !transform.param<i64>
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @maps_unknown_row(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %same = transform.include @maps_row failures(propagate) (%op, %tile)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %size = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%linalg: !transform.any_op):
      %size_in = transform.match.structured.dim %linalg[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size_in : !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %size, %none : !transform.param<i64>
    transform.yield %same : !transform.any_op
  }
  transform.named_sequence private @maps_rows(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
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
  transform.named_sequence private @maps_few_rows(%op: !transform.any_op {transform.readonly},
      %tile: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %loops, %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%linalg: !transform.any_op):
      %loops_in = transform.match.structured.rank %linalg : (!transform.any_op) -> !transform.param<i64>
      %rows_in = transform.match.structured.dim %linalg[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      %columns_in = transform.match.structured.dim %linalg[1] {parallel} : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops_in, %rows_in, %columns_in : !transform.param<i64>,
        !transform.param<i64>, !transform.param<i64>
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
  transform.named_sequence private @cut_block(%op: !transform.any_op {transform.consumed}) {
    %block, %blocks:2 = transform.structured.tile_using_for %op tile_sizes [128, 32] interchange = [1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.include @cut_square failures(propagate) (%block) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @cut_square(%op: !transform.any_op {transform.consumed}) {
    %part, %loops:2 = transform.structured.tile_using_for %op tile_sizes [16, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.annotate %part "square_part" : !transform.any_op
    %end = transform.include @peel_end failures(suppress) (%loops#1) : (!transform.any_op) -> !transform.any_op
    %end_of_outer = transform.include @peel_end failures(suppress) (%loops#0) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @reduces_row(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly})
      -> (!transform.any_op, !transform.param<i64>) {
    %loops, %inits = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
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
  // A row that is not worth a vector of partial sums.
  transform.named_sequence private @reduces_few_of_row(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly})
      -> !transform.any_op {
    %few = transform.include @reduces_few failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %few : !transform.any_op
  }
  transform.named_sequence private @leave_sum_in_loops(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence private @reduces_short_row(%op: !transform.any_op {transform.readonly}, %tile: !transform.param<i64> {transform.readonly})
      -> (!transform.any_op, !transform.param<i64>) {
    %loops, %size, %inits = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
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
  transform.named_sequence private @mark_long_map(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "long" -> !transform.any_param
    transform.annotate %op "row_map" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_long_map_of_8(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "long of 8" -> !transform.any_param
    transform.annotate %op "row_map" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  // Functions are chains of dependent steps, of which four vectors overlap (a sigmoid takes 7 % longer in two).
  transform.named_sequence private @keep_if_costly(%op: !transform.any_op {transform.readonly}) {
    transform.include @keep_costly failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @keep_costly(%op: !transform.any_op {transform.readonly}) {
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    %costly = transform.structured.match ops{["math.exp", "math.exp2", "math.expm1", "math.log", "math.log1p", "math.log2", "math.tanh",
      "math.erf", "math.rsqrt", "math.sqrt", "math.sin", "math.cos", "math.powf"]} in %op : (!transform.any_op) -> !transform.any_op
    %functions = transform.num_associations %costly : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi ne %functions, %none : !transform.param<i64>
    transform.include @mark_map failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @mark_unknown_map(%op: !transform.any_op {transform.readonly}) {
    %mark = transform.param.constant "unknown" -> !transform.any_param
    transform.annotate %op "row_map" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_short_sum(%op: !transform.any_op {transform.readonly},
      %inits: !transform.param<i64> {transform.readonly}) {
    transform.annotate %op "row_sum" = %inits : !transform.any_op, !transform.param<i64>
    transform.annotate %op "short" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_sum(%op: !transform.any_op {transform.readonly},
      %inits: !transform.param<i64> {transform.readonly}) {
    transform.annotate %op "row_sum" = %inits : !transform.any_op, !transform.param<i64>
    transform.annotate %op "long" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @cut_map(%op: !transform.any_op {transform.consumed},
      %tile: !transform.param<i64> {transform.readonly}) {
    %part, %loop = transform.structured.tile_using_for %op tile_sizes [%tile]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.include @split_off_end failures(propagate) (%part, %loop) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  // The end of a row of unknown length is cut into single vectors: masks of four take longer than a short row.
  transform.named_sequence private @try_cut_unknown_map(%op: !transform.any_op {transform.consumed},
      %tile: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    transform.include @cut_unknown_map failures(propagate) (%op, %tile, %lanes)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @cut_unknown_map(%op: !transform.any_op {transform.consumed},
      %tile: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    %part, %loop = transform.structured.tile_using_for %op tile_sizes [%tile]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.annotate %part "any_part" : !transform.any_op
    %for = transform.cast %loop : !transform.any_op to !transform.op<"scf.for">
    %main, %end = transform.loop.peel %for : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    %rest = transform.structured.match attributes {any_part} in %end : (!transform.any_op) -> !transform.any_op
    %short, %loop_of_rest = transform.structured.tile_using_for %rest tile_sizes [%lanes]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %mark = transform.param.constant "end" -> !transform.any_param
    transform.annotate %short "any_part" = %mark : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @split_off_end(%part: !transform.any_op {transform.readonly}, %loop: !transform.any_op {transform.consumed}) {
    transform.annotate %part "any_part" : !transform.any_op
    %end = transform.include @peel_end failures(suppress) (%loop) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // Peeling fails where tiles come out even; then there is no end.
  transform.named_sequence @peel_end(%loop: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %for = transform.cast %loop : !transform.any_op to !transform.op<"scf.for">
    %main, %end = transform.loop.peel %for : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.yield %end : !transform.any_op
  }

  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  // In parts/loop_order.mlir:
  transform.named_sequence private @reduces_few(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @mark_ops_on_tensors(!transform.any_op {transform.readonly})
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
  // In parts/vector_tiles.mlir:
  transform.named_sequence private @vectorize_parts(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly},
      !transform.param<i64> {transform.readonly})
  transform.named_sequence private @vectorize_squares(!transform.any_op {transform.readonly})
  transform.named_sequence private @settle_vectors(!transform.any_op {transform.readonly})
}
