// Payload: convolutions of images (linalg.conv_2d_nhwc_hwcf, generalized); the sequences say what each takes.
// Idea:    the steps of conv2d.mlir that vectorize, to be included: a schedule names this file and parts/cpu.mlir
//          in comments (lhkit: library parts/images.mlir) and declares the sequences that it includes.
// Knobs:   none.
// What a payload does not have is not found, as where tiles come out even.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Give each thread a share of a convolution and of the fill it starts from: rows of the image where there are many,
  // else filters. A single thread's share is all of it, and no loop is left.
  transform.named_sequence @share_among_threads(%root: !transform.any_op {transform.readonly},
      %threads: !transform.param<i64> {transform.readonly}) {
    %all = transform.structured.match ops{["linalg.generic"]} attributes {convolution} in %root : (!transform.any_op) -> !transform.any_op
    %seen = transform.foreach_match restrict_root in %all @is_small -> @mark_filters, @is_convolution -> @mark_rows
      : (!transform.any_op) -> !transform.any_op
    %by_rows = transform.structured.match attributes {share = "rows"} in %root : (!transform.any_op) -> !transform.any_op
    %by_filters = transform.structured.match attributes {share = "filters"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %by_rows : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %share, %loop = transform.structured.tile_using_forall %each num_threads [0, %threads]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      transform.include @fuse_fill failures(suppress) (%loop) : (!transform.any_op) -> ()
    }
    transform.foreach %by_filters : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %share, %loop = transform.structured.tile_using_forall %each num_threads [0, 0, 0, %threads]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      transform.include @fuse_fill failures(suppress) (%loop) : (!transform.any_op) -> ()
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Fails where a convolution adds to what is there.
  transform.named_sequence private @fuse_fill(%loop: !transform.any_op {transform.consumed}) {
    %init = transform.get_producer_of_operand %loop[0] : (!transform.any_op) -> !transform.any_op
    %fill, %loop_1 = transform.structured.fuse_into_containing_op %init into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }

  // Where nothing had to be filled up, the result need not be copied to its place: it is there.
  transform.named_sequence @drop_needless_copy(%pads: !transform.any_op {transform.readonly},
      %copy: !transform.any_op {transform.consumed}) {
    // With failures suppressed, steps behind the one that failed are still taken: not in the sequence that fails.
    transform.include @drop_copy_without_pads failures(propagate) (%pads, %copy)
      : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @drop_copy_without_pads(%pads: !transform.any_op {transform.readonly},
      %copy: !transform.any_op {transform.consumed}) {
    %count = transform.num_associations %pads : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %count, %none : !transform.param<i64>
    // As a generic op that yields what it reads it is folded when others are cleaned up.
    %identity = transform.structured.generalize %copy : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  // Copy or pad images, or filters, row by row of the last dimension, a row as one vector of so many elements that is
  // masked where it is shorter.
  transform.named_sequence @vectorize_pixels(%ops: !transform.any_op {transform.consumed},
      %elements: !transform.param<i64> {transform.readonly}) {
    %function = transform.get_parent_op %ops {op_name = "func.func", deduplicate}
      : (!transform.any_op) -> !transform.any_op
    transform.foreach %ops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %row, %rows:3 = transform.structured.tile_using_for %each tile_sizes [1, 1, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      transform.structured.vectorize %row vector_sizes [1, 1, 1, %elements] : !transform.any_op, !transform.param<i64>
    }
    // At once, because canonicalization would make a copy of slices of what reads and writes a whole vector, and
    // others put several ops under a mask that may have only one.
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_masked_transfers
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
    } : !transform.any_op
    transform.yield
  }

  // Make each step of the sums of tiles (one image, one row, some pixels, some filters) a contraction of vectors.
  // Where windows lie apart, pixels are none: each is multiplied alone.
  transform.named_sequence @vectorize_convolutions(%root: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.param<i64> {
    // One tap of the window at a time; without the loops of length 1 it is a product of matrices.
    %convolutions = transform.structured.match ops{["linalg.generic"]} attributes {convolution} in %root
      : (!transform.any_op) -> !transform.any_op
    %tap, %taps:2 = transform.structured.tile_using_for %convolutions tile_sizes [0, 0, 0, 0, 1, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.annotate %taps#0 "taps" : !transform.any_op
    transform.annotate %taps#1 "taps" : !transform.any_op
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @drop_units failures(propagate) (%root) : (!transform.any_op) -> ()
    // Where windows lie apart, and where there is one channel, pixels are multiplied one by one.
    %taken = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %marked = transform.foreach_match restrict_root in %taken @is_product -> @leave, @is_triple -> @mark_apart
      : (!transform.any_op) -> !transform.any_op
    %apart = transform.structured.match attributes {pixels = "apart"} in %root : (!transform.any_op) -> !transform.any_op
    %channel, %channels = transform.structured.tile_using_for %apart tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %channels "reduction" : !transform.any_op
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @drop_units failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @cut_into_pixels failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @write_out_pixels failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @drop_units failures(propagate) (%root) : (!transform.any_op) -> ()

    // All others are products of matrices, or of a matrix with the one pixel there is: one channel at a time.
    %products = transform.collect_matching @is_product in %root : (!transform.any_op) -> !transform.any_op
    %step, %reductions = transform.structured.tile_using_for %products tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %row_products = transform.collect_matching @is_row_product in %root : (!transform.any_op) -> !transform.any_op
    %step_1, %reductions_1 = transform.structured.tile_using_for %row_products tile_sizes [0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %steps = transform.merge_handles %step, %step_1 : !transform.any_op
    %count = transform.num_associations %steps : (!transform.any_op) -> !transform.param<i64>
    %sums = transform.merge_handles %reductions, %reductions_1 : !transform.any_op
    transform.annotate %sums "reduction" : !transform.any_op
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    // A tile's fill becomes a vector; a larger one is cut into vectors first.
    %starts = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %filled = transform.foreach_match restrict_root in %starts @fills_a_tile_of_pixels -> @leave, @fills_more -> @mark_large_fill
      : (!transform.any_op) -> !transform.any_op
    %fills = transform.structured.match attributes {fill = "large"} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %fills : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %part, %loops:4 = transform.structured.tile_using_for %each tile_sizes [1, 1, 1, %lanes]
        : (!transform.any_op, !transform.param<i64>)
        -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %all = transform.structured.match ops{["linalg.fill", "linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %all {create_named_contraction} : !transform.any_op
    // The products of pixels that are multiplied one by one are added without being rounded first.
    %in_one_step = transform.param.constant #arith.fastmath<contract> -> !transform.any_param
    %terms = transform.structured.match ops{["arith.mulf", "arith.addf"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %terms "fastmath" = %in_one_step : !transform.any_op, !transform.any_param
    transform.yield %count : !transform.param<i64>
  }

  // Cut products of which the channels are gone into pixels. A sequence of its own, so that no handle to the loops
  // is left when they are written out.
  transform.named_sequence private @cut_into_pixels(%root: !transform.any_op {transform.readonly}) {
    %rows = transform.collect_matching @is_row in %root : (!transform.any_op) -> !transform.any_op
    %pixel, %pixels = transform.structured.tile_using_for %rows tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %pixels "pixels" : !transform.any_op
    transform.yield
  }

  // Write loops over pixels out, up to 8 and 14 iterations: unrolling leaves a loop that is too short as it is, and
  // of what is left over a loop that goes the same way.
  transform.named_sequence private @write_out_pixels(%root: !transform.any_op {transform.readonly}) {
    %by_7 = transform.structured.match ops{["scf.for"]} attributes {pixels} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %by_7 : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.unroll %each {factor = 7} : !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %by_5 = transform.structured.match ops{["scf.for"]} attributes {pixels} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %by_5 : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.unroll %each {factor = 5} : !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %by_3 = transform.structured.match ops{["scf.for"]} attributes {pixels} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %by_3 : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.unroll %each {factor = 3} : !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %by_2 = transform.structured.match ops{["scf.for"]} attributes {pixels} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %by_2 : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.unroll %each {factor = 2} : !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Reads and writes of a tile leave the loops over channels, columns and rows of a window, in that order. Others
  // they may not leave: a tile of an image would be a copy of it.
  transform.named_sequence @keep_pixels_in_registers(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // No canonicalization before reduction_to_contract: on a reduction of length 1 it would lose the contraction.
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.include @leave_sums failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @leave_taps failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @leave_taps failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @leave_sums(%root: !transform.any_op {transform.readonly}) {
    %loops = transform.structured.match ops{["scf.for"]} attributes {reduction} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @leave_loops failures(propagate) (%loops) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @leave_taps(%root: !transform.any_op {transform.readonly}) {
    %loops = transform.structured.match ops{["scf.for"]} attributes {taps} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @leave_loops failures(propagate) (%loops) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @leave_loops(%loops: !transform.any_op {transform.readonly}) {
    transform.apply_licm to %loops : !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.hoist_loop_invariant_subsets %each : !transform.any_op
    }
    transform.yield
  }

  // Leave out dimensions of length 1.
  transform.named_sequence private @drop_units(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices
      transform.apply_patterns.tensor.merge_consecutive_insert_extract_slice
      transform.apply_patterns.tensor.drop_redundant_insert_slice_rank_expansion
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }

  // Pixels by filters by channels.
  transform.named_sequence private @is_product(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %rank = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      transform.match.structured.input %generic[0] {projected_permutation} : !transform.any_op
      %number = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number : !transform.param<i64>
    }
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %three : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Filters by channels, of one pixel.
  transform.named_sequence private @is_row_product(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %rank = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      %number = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number : !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // The same, whether pixels lie side by side or apart.
  transform.named_sequence private @is_triple(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %rank = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      %number = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number : !transform.param<i64>
    }
    %three = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %three : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_apart(%op: !transform.any_op {transform.readonly}) {
    %place = transform.param.constant "apart" -> !transform.any_param
    transform.annotate %op "pixels" = %place : !transform.any_op, !transform.any_param
    transform.yield
  }
  // Pixels by filters.
  transform.named_sequence private @is_row(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %rank = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[all] {parallel} : !transform.any_op
      %number = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number : !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // A convolution of fewer than 28 rows, and any other.
  transform.named_sequence private @is_small(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %size = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[4, 5, 6] {reduction} : !transform.any_op
      %rows = transform.match.structured.dim %generic[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %rows : !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %zero = transform.param.constant 0 : i64 -> !transform.param<i64>
    %many = transform.param.constant 28 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %zero : !transform.param<i64>
    transform.match.param.cmpi lt %size, %many : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_filters(%op: !transform.any_op {transform.readonly}) {
    %share = transform.param.constant "filters" -> !transform.any_param
    transform.annotate %op "share" = %share : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @is_convolution(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[4, 5, 6] {reduction} : !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_rows(%op: !transform.any_op {transform.readonly}) {
    %share = transform.param.constant "rows" -> !transform.any_param
    transform.annotate %op "share" = %share : !transform.any_op, !transform.any_param
    transform.yield
  }
  // Mark each convolution with the pixels of its tiles: 4 or 5, nearly equal, where tiles of 6 would leave a rest of
  // few pixels, else tile_w.
  transform.named_sequence @mark_short_rows(%root: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}) {
    %generic = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %marked = transform.foreach_match restrict_root in %generic, %tile_w
        @has_7_or_8_pixels -> @mark_4_pixels, @has_9_or_10_pixels -> @mark_5_pixels, @has_13_to_15_pixels -> @mark_5_pixels,
        @has_other_pixels -> @mark_tile_w
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield
  }
  // Rows of 7 or 8 pixels (4 + 3, 4 + 4), where tiles have 6.
  transform.named_sequence private @has_7_or_8_pixels(%op: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %six = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %tile_w, %six : !transform.param<i64>
    %width = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[4, 5, 6] {reduction} : !transform.any_op
      %pixels = transform.match.structured.dim %generic[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %pixels : !transform.param<i64>
    }
    %least = transform.param.constant 7 : i64 -> !transform.param<i64>
    %most = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %width, %least : !transform.param<i64>
    transform.match.param.cmpi le %width, %most : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Rows of 9 or 10 pixels (5 + 4, 5 + 5), where tiles have 6.
  transform.named_sequence private @has_9_or_10_pixels(%op: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %six = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %tile_w, %six : !transform.param<i64>
    %width = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[4, 5, 6] {reduction} : !transform.any_op
      %pixels = transform.match.structured.dim %generic[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %pixels : !transform.param<i64>
    }
    %least = transform.param.constant 9 : i64 -> !transform.param<i64>
    %most = transform.param.constant 10 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %width, %least : !transform.param<i64>
    transform.match.param.cmpi le %width, %most : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Rows of 13 to 15 pixels (two of 5 and the rest), where tiles have 6.
  transform.named_sequence private @has_13_to_15_pixels(%op: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %six = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %tile_w, %six : !transform.param<i64>
    %width = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[4, 5, 6] {reduction} : !transform.any_op
      %pixels = transform.match.structured.dim %generic[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %pixels : !transform.param<i64>
    }
    %least = transform.param.constant 13 : i64 -> !transform.param<i64>
    %most = transform.param.constant 15 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %width, %least : !transform.param<i64>
    transform.match.param.cmpi le %width, %most : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Any other convolution.
  transform.named_sequence private @has_other_pixels(%op: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %convolution = transform.include @is_convolution failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_4_pixels(%op: !transform.any_op {transform.readonly}) {
    %tile = transform.param.constant "4 pixels" -> !transform.any_param
    transform.annotate %op "tile" = %tile : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_5_pixels(%op: !transform.any_op {transform.readonly}) {
    %tile = transform.param.constant "5 pixels" -> !transform.any_param
    transform.annotate %op "tile" = %tile : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_tile_w(%op: !transform.any_op {transform.readonly}) {
    %tile = transform.param.constant "tile_w" -> !transform.any_param
    transform.annotate %op "tile" = %tile : !transform.any_op, !transform.any_param
    transform.yield
  }

  // A convolution with a dynamic number of filters.
  transform.named_sequence @has_unknown_filters(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %size = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      %filters = transform.match.structured.dim %generic[3] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %filters : !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %zero = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %size, %zero : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A convolution with a dynamic number of pixels per row.
  transform.named_sequence @has_unknown_width(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %size = transform.match.structured %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      %width = transform.match.structured.dim %generic[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %width : !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %zero = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %size, %zero : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A fill of at most 16 pixels of one row, with at most 64 filters.
  transform.named_sequence private @fills_a_tile_of_pixels(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %images, %rows, %pixels, %filters = transform.match.structured %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%fill: !transform.any_op):
      %n = transform.match.structured.dim %fill[0] : (!transform.any_op) -> !transform.param<i64>
      %h = transform.match.structured.dim %fill[1] : (!transform.any_op) -> !transform.param<i64>
      %w = transform.match.structured.dim %fill[2] : (!transform.any_op) -> !transform.param<i64>
      %f = transform.match.structured.dim %fill[3] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %n, %h, %w, %f
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most_pixels = transform.param.constant 16 : i64 -> !transform.param<i64>
    %most_filters = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %images, %one : !transform.param<i64>
    transform.match.param.cmpi eq %rows, %one : !transform.param<i64>
    transform.match.param.cmpi ge %pixels, %one : !transform.param<i64>
    transform.match.param.cmpi le %pixels, %most_pixels : !transform.param<i64>
    transform.match.param.cmpi ge %filters, %one : !transform.param<i64>
    transform.match.param.cmpi le %filters, %most_filters : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  transform.named_sequence private @leave(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  // Any other fill.
  transform.named_sequence private @fills_more(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_large_fill(%op: !transform.any_op {transform.readonly}) {
    %size = transform.param.constant "large" -> !transform.any_param
    transform.annotate %op "fill" = %size : !transform.any_op, !transform.any_param
    transform.yield
  }

  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
