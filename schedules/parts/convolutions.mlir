// Payload: convolutions and poolings of linalg on tensors, in any layout; the sequences say what each takes.
// Idea:    the steps for convolutions of any kind, to be included: a schedule names this file and parts/cpu.mlir in
//          comments (lhkit: library parts/convolutions.mlir) and declares the sequences that it includes.
// Knobs:   none.
// Result:  those of the schedules that include it.
// What a payload does not have is not found, as where tiles come out even.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Let products and convolutions of quantized numbers multiply the numbers as they are.
  transform.named_sequence @split_zero_points(%root: !transform.any_op {transform.readonly}) {
    %generic = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %generic : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_zero_points failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_zero_points(%op: !transform.any_op {transform.consumed}) {
    transform.include @split_points failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @split_points(%op: !transform.any_op {transform.consumed}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    // lhkit: allow suppressed-failure
    %product = "lhkit.split_zero_points"(%op) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  // Bring convolutions of images into one layout.
  transform.named_sequence @convolutions_of_images(%root: !transform.any_op {transform.readonly}) {
    %generic = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %generic : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_image failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_image(%op: !transform.any_op {transform.consumed}) {
    transform.include @write_as_image failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @write_as_image(%op: !transform.any_op {transform.consumed}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    // lhkit: allow suppressed-failure
    %image = "lhkit.convolution_to_nhwc"(%op) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  // Write convolutions that sum over channels as contractions of their windows with the filter; gives the ops that copy
  // windows, at most so many elements at once.
  transform.named_sequence @convolutions_to_contractions(%root: !transform.any_op {transform.readonly},
      %elements: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %generic = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %generic : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_convolution failures(suppress) (%each, %elements)
        : (!transform.any_op, !transform.param<i64>) -> ()
    }
    // Of the payload's own copies generic ops were made before.
    %windows = transform.structured.match ops{["linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %windows "windows" : !transform.any_op
    transform.yield %windows : !transform.any_op
  }
  transform.named_sequence private @try_convolution(%op: !transform.any_op {transform.consumed},
      %elements: !transform.param<i64> {transform.readonly}) {
    transform.include @write_as_contraction failures(propagate) (%op, %elements)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield
  }
  transform.named_sequence private @write_as_contraction(%op: !transform.any_op {transform.consumed},
      %elements: !transform.param<i64> {transform.readonly}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    // lhkit: allow suppressed-failure
    %contraction, %windows = "lhkit.convolution_to_contraction"(%op, %elements)
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }

  // Make vectors of the copies of rows of windows, four vectors long, and what is left.
  transform.named_sequence @schedule_windows(%root: !transform.any_op {transform.readonly}) {
    %copies = transform.structured.match ops{["linalg.copy"]} attributes {windows} in %root : (!transform.any_op) -> !transform.any_op
    %rows = transform.foreach %copies : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %row, %loop = transform.structured.tile_using_for %each tile_sizes [64] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.yield %loop : !transform.any_op
    }
    transform.include @split_off_ends failures(propagate) (%rows) : (!transform.any_op) -> ()
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %parts = transform.structured.match ops{["linalg.copy"]} attributes {windows} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %parts : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_vectors failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    %masked = transform.structured.match ops{["linalg.copy"]} attributes {windows} in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %masked vector_sizes [64] : !transform.any_op
    // At once, because canonicalization would make a copy of slices of what reads and writes a whole row.
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_masked_transfers
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
    } : !transform.any_op
    transform.yield
  }

  // Write convolutions of each channel with a few filters as those of single channels, to be unrolled when ops by
  // elements have been merged, which would take the channels apart again.
  transform.named_sequence @collapse_multipliers(%root: !transform.any_op {transform.readonly}) {
    %generic = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %generic : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_multiplier failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_multiplier(%op: !transform.any_op {transform.consumed}) {
    transform.include @collapse_multiplier failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @collapse_multiplier(%op: !transform.any_op {transform.consumed}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    // lhkit: allow suppressed-failure
    %single = "lhkit.collapse_multiplier"(%op) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence @unroll_windows_of_multipliers(%root: !transform.any_op {transform.readonly}) {
    %single = transform.structured.match attributes {of_multiplier} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %single : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_later_window failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_later_window(%op: !transform.any_op {transform.consumed}) {
    transform.include @unroll_window failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }

  // Write convolutions of each channel for itself, and poolings, as ops by elements that have the places of the window
  // as operands.
  transform.named_sequence @unroll_windows(%root: !transform.any_op {transform.readonly}) {
    %generic = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %generic : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_window failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_window(%op: !transform.any_op {transform.consumed}) {
    transform.include @unroll_window_of_channel failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @unroll_window_of_channel(%op: !transform.any_op {transform.consumed}) {
    %later = transform.structured.match attributes {of_multiplier} in %op : (!transform.any_op) -> !transform.any_op
    %marks = transform.num_associations %later : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %marks, %none : !transform.param<i64>
    transform.include @unroll_window failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @unroll_window(%op: !transform.any_op {transform.consumed}) {
    %same = transform.include @has_result_and_is_not_aside failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    // lhkit: allow suppressed-failure
    %unrolled = "lhkit.unroll_window"(%op) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  // Make vectors of such ops, and of all others by elements that read four tensors and more: four rows of the last dimension, each one vector long, so that what a row reads again
  // (the filter where channels are last) stays in registers. What is left at the ends is split off.
  transform.named_sequence @schedule_depthwise(%root: !transform.any_op {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %function @reads_long_rows_once -> @leave_to_rows, @is_window_of_1 -> @mark_1, @is_window_of_2 -> @mark_2,
      @is_window_of_3 -> @mark_3, @is_window_of_4 -> @mark_4, @is_window_of_5 -> @mark_5 : (!transform.any_op) -> !transform.any_op
    %of_1 = transform.structured.match attributes {window = 1 : i64} in %root : (!transform.any_op) -> !transform.any_op
    // Filters of one row are in memory where a window has as many places as there are registers.
    %four = transform.include @tile_of_lanes failures(propagate) (%lanes) : (!transform.param<i64>) -> !transform.param<i64>
    %rows_1, %vectors_1 = transform.foreach %of_1 : !transform.any_op -> !transform.any_op, !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %loops = transform.structured.tile_using_for %each tile_sizes [%four]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      transform.annotate %tile "window_tile" : !transform.any_op
      transform.yield %loops, %loops : !transform.any_op, !transform.any_op
    }
    %of_2 = transform.structured.match attributes {window = 2 : i64} in %root : (!transform.any_op) -> !transform.any_op
    %rows_2, %vectors_2 = transform.foreach %of_2 : !transform.any_op -> !transform.any_op, !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %loops:2 = transform.structured.tile_using_for %each tile_sizes [4, %lanes]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
      transform.annotate %tile "window_tile" : !transform.any_op
      transform.yield %loops#0, %loops#1 : !transform.any_op, !transform.any_op
    }
    %of_3 = transform.structured.match attributes {window = 3 : i64} in %root : (!transform.any_op) -> !transform.any_op
    %rows_3, %vectors_3 = transform.foreach %of_3 : !transform.any_op -> !transform.any_op, !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %loops:3 = transform.structured.tile_using_for %each tile_sizes [1, 4, %lanes]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      transform.annotate %tile "window_tile" : !transform.any_op
      transform.yield %loops#1, %loops#2 : !transform.any_op, !transform.any_op
    }
    %of_4 = transform.structured.match attributes {window = 4 : i64} in %root : (!transform.any_op) -> !transform.any_op
    %rows_4, %vectors_4 = transform.foreach %of_4 : !transform.any_op -> !transform.any_op, !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %loops:4 = transform.structured.tile_using_for %each tile_sizes [1, 1, 4, %lanes]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      transform.annotate %tile "window_tile" : !transform.any_op
      transform.yield %loops#2, %loops#3 : !transform.any_op, !transform.any_op
    }
    %of_5 = transform.structured.match attributes {window = 5 : i64} in %root : (!transform.any_op) -> !transform.any_op
    %rows_5, %vectors_5 = transform.foreach %of_5 : !transform.any_op -> !transform.any_op, !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %loops:5 = transform.structured.tile_using_for %each tile_sizes [1, 1, 1, 4, %lanes]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      transform.annotate %tile "window_tile" : !transform.any_op
      transform.yield %loops#3, %loops#4 : !transform.any_op, !transform.any_op
    }
    // The outer of both first: what the inner loop leaves is then split off from both parts.
    %rows = transform.merge_handles %rows_2, %rows_3, %rows_4, %rows_5 : !transform.any_op
    %vectors = transform.merge_handles %vectors_1, %vectors_2, %vectors_3, %vectors_4, %vectors_5 : !transform.any_op
    transform.annotate %vectors "window_vectors" : !transform.any_op
    transform.include @split_off_ends failures(propagate) (%rows) : (!transform.any_op) -> ()
    %both = transform.structured.match ops{["scf.for"]} attributes {window_vectors} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @split_off_ends failures(propagate) (%both) : (!transform.any_op) -> ()
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %tiles = transform.structured.match ops{["linalg.generic"]} attributes {window_tile} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %tiles : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_vectors failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_vectors(%op: !transform.any_op {transform.consumed}) {
    transform.include @make_vectors failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @make_vectors(%op: !transform.any_op {transform.consumed}) {
    transform.structured.vectorize %op : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @split_off_ends(%loops: !transform.any_op {transform.consumed}) {
    transform.foreach %loops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @try_peel failures(suppress) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @try_peel(%loop: !transform.any_op {transform.consumed}) {
    transform.include @peel failures(propagate) (%loop) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @peel(%loop: !transform.any_op {transform.consumed}) {
    %for = transform.cast %loop : !transform.any_op to !transform.op<"scf.for">
    %main, %rest = transform.loop.peel %for : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  // Poolings of channels that are last: no row is read again, and four vectors of one row lie side by side in memory.
  transform.named_sequence private @reads_long_rows_once(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %size = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[all] {parallel} : !transform.any_op
      transform.match.structured.input %generic[all] {permutation} : !transform.any_op
      %columns = transform.match.structured.dim %generic[-1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %columns : !transform.param<i64>
    }
    %long = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %size, %long : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @leave_to_rows(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence private @is_window_of_1(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %rank = transform.include @rank_of_window failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_1(%op: !transform.any_op {transform.readonly}) {
    %rank = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.annotate %op "window" = %rank : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @is_window_of_2(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %rank = transform.include @rank_of_window failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_2(%op: !transform.any_op {transform.readonly}) {
    %rank = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.annotate %op "window" = %rank : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @is_window_of_3(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %rank = transform.include @rank_of_window failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_3(%op: !transform.any_op {transform.readonly}) {
    %rank = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.annotate %op "window" = %rank : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @is_window_of_4(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %rank = transform.include @rank_of_window failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_4(%op: !transform.any_op {transform.readonly}) {
    %rank = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.annotate %op "window" = %rank : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @is_window_of_5(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %rank = transform.include @rank_of_window failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_5(%op: !transform.any_op {transform.readonly}) {
    %rank = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.annotate %op "window" = %rank : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence private @rank_of_window(%op: !transform.any_op {transform.readonly}) -> !transform.param<i64> {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %rank, %inputs = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[all] {parallel} : !transform.any_op
      transform.match.structured.input %generic[all] {projected_permutation} : !transform.any_op
      %loops = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      %number = transform.match.structured.num_inputs %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops, %number : !transform.param<i64>, !transform.param<i64>
    }
    %least = transform.param.constant 4 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %inputs, %least : !transform.param<i64>
    // What ends a product is computed with its tiles.
    %end = transform.structured.match attributes {role = "epilogue"} in %op : (!transform.any_op) -> !transform.any_op
    %ends = transform.num_associations %end : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %ends, %none : !transform.param<i64>
    transform.yield %rank : !transform.param<i64>
  }

  // In parts/loop_order.mlir:
  transform.named_sequence private @has_result_and_is_not_aside(!transform.any_op {transform.readonly}) -> !transform.any_op
  // In parts/inner.mlir:
  transform.named_sequence private @tile_of_lanes(!transform.param<i64> {transform.readonly}) -> !transform.param<i64>
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
