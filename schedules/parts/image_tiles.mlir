// Payload: convolutions of images: linalg.conv_2d_nhwc_hwcf of f32 on tensors, in any shape from 1 throughout on, static
//          or dynamic, with any strides and dilations. Other ops of linalg, but for the fill that they start from, are
//          for another schedule.
// Idea:    the steps of conv2d.mlir, which says how they work, to be included: a schedule names this file,
//          parts/images.mlir and parts/cpu.mlir in comments (lhkit: library parts/image_tiles.mlir).
// Knobs:   none; what conv2d.mlir calls its knobs are arguments.
// Result:  that of conv2d.mlir.
// What is done for ends that a payload does not have, and for threads that are not there, finds nothing:
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Make vectors of convolutions of images.
  transform.named_sequence @schedule_images(%root: !transform.any_op {transform.readonly},
      %tile_w: !transform.param<i64> {transform.readonly}, %tile_f: !transform.param<i64> {transform.readonly},
      %strip_f: !transform.param<i64> {transform.readonly}, %block_c: !transform.param<i64> {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}, %threads: !transform.param<i64> {transform.readonly},
      %winograd: !transform.param<i64> {transform.readonly}, %tiles: !transform.param<i64> {transform.readonly}) {
    transform.include @transform_large_maps failures(propagate) (%root, %winograd, %threads, %lanes, %tile_w, %tile_f, %tiles)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>,
         !transform.param<i64>, !transform.param<i64>) -> ()

    %named = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.annotate %conv "convolution" : !transform.any_op
    transform.include @share_among_threads failures(propagate) (%root, %threads)
      : (!transform.any_op, !transform.param<i64>) -> ()

    // Filters in strips; where their number is dynamic, the last ones in narrow strips.
    %shares = transform.structured.match ops{["linalg.generic"]} attributes {convolution} in %root : (!transform.any_op) -> !transform.any_op
    %strip, %strips = transform.structured.fuse %shares tile_sizes [0, 0, 0, %strip_f]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %wide, %rest = transform.include @split_off_rest failures(propagate) (%root, %strip, %strips)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %unknown = transform.collect_matching @has_unknown_filters in %root : (!transform.any_op) -> !transform.any_op
    %strip_1, %strips_1 = transform.structured.fuse %unknown tile_sizes [0, 0, 0, %tile_f]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %known, %last = transform.include @split_off_rest failures(propagate) (%root, %strip_1, %strips_1)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    // What is no multiple of a vector is filled up with zeros, the result too: it is computed beside its place.
    %all = transform.structured.match ops{["linalg.generic"]} attributes {convolution} in %root : (!transform.any_op) -> !transform.any_op
    %filled = transform.foreach %all : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %padded, %pad, %copy_back = transform.structured.pad %each pad_to_multiple_of [%lanes]
        {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [3], nofold_flags = [0, 0, 0], copy_back_op = "linalg.copy"}
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
      transform.include @drop_needless_copy failures(suppress) (%pad, %copy_back)
        : (!transform.any_op, !transform.any_op) -> ()
      transform.yield %padded : !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %moves = transform.structured.match ops{["tensor.pad", "linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @vectorize_pixels failures(propagate) (%moves, %strip_f)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    // Blocks of channels; what the filters of a strip say about them is copied into a panel, unless few rows read it.
    %few_rows = transform.collect_matching @has_few_result_rows in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %few_rows "few_rows" : !transform.any_op
    %panels = transform.foreach %filled : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %block, %blocks = transform.structured.tile_using_for %each tile_sizes [0, 0, 0, 0, 0, 0, %block_c]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      %panel = transform.include @try_panel failures(suppress) (%block) : (!transform.any_op) -> !transform.any_op
      transform.yield %panel : !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @vectorize_pixels failures(propagate) (%panels, %strip_f)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    // Tiles of filters, and then of pixels in a row.
    %packed = transform.structured.match ops{["linalg.generic"]} attributes {convolution} in %root : (!transform.any_op) -> !transform.any_op
    %column, %columns = transform.structured.fuse %packed tile_sizes [0, 0, 0, %tile_f]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %column_1, %right = transform.include @split_off_rest failures(propagate) (%root, %column, %columns)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %column_2, %columns_2 = transform.structured.fuse %right tile_sizes [0, 0, 0, %lanes]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    // Tiles of 6 pixels leave short rows a rest of few pixels, with too few accumulators to hide the latency of an
    // FMA: these rows are cut into smaller tiles that are nearly equal.
    transform.include @mark_short_rows failures(propagate) (%root, %tile_w)
      : (!transform.any_op, !transform.param<i64>) -> ()
    %by_4 = transform.structured.match attributes {tile = "4 pixels"} in %root : (!transform.any_op) -> !transform.any_op
    %by_5 = transform.structured.match attributes {tile = "5 pixels"} in %root : (!transform.any_op) -> !transform.any_op
    %by_tile_w = transform.structured.match attributes {tile = "tile_w"} in %root : (!transform.any_op) -> !transform.any_op
    %four = transform.param.constant 4 : i64 -> !transform.param<i64>
    %five = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.include @tile_rows failures(propagate) (%root, %by_4, %four)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> ()
    transform.include @tile_rows failures(propagate) (%root, %by_5, %five)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> ()
    transform.include @tile_rows failures(propagate) (%root, %by_tile_w, %tile_w)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> ()
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %of_unknown_width = transform.collect_matching @has_unknown_width in %root : (!transform.any_op) -> !transform.any_op
    %pixel, %pixels = transform.structured.fuse %of_unknown_width tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    %expected = transform.include @vectorize_convolutions failures(propagate) (%root, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.param<i64>
    transform.include @keep_pixels_in_registers failures(propagate) (%root) : (!transform.any_op) -> ()
    // A tile that lost its contraction would be right and slow: better to fail.
    %contractions = transform.structured.match ops{["vector.contract"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %found = transform.num_associations %contractions : (!transform.any_op) -> !transform.param<i64>
    transform.match.param.cmpi eq %found, %expected : !transform.param<i64>
    transform.include @lower_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  transform.named_sequence private @has_few_result_rows(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %images, %rows = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%convolution: !transform.any_op):
      %images_in = transform.match.structured.dim %convolution[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      %rows_in = transform.match.structured.dim %convolution[1] {parallel} : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %images_in, %rows_in : !transform.param<i64>, !transform.param<i64>
    }
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %images, %one : !transform.param<i64>
    %most = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %one : !transform.param<i64>
    transform.match.param.cmpi le %rows, %most : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @try_panel(%block: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %panel = transform.include @panel_of_rows failures(propagate) (%block) : (!transform.any_op) -> !transform.any_op
    transform.yield %panel : !transform.any_op
  }
  transform.named_sequence private @panel_of_rows(%block: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %few_rows = transform.structured.match attributes {few_rows} in %block : (!transform.any_op) -> !transform.any_op
    %marks = transform.num_associations %few_rows : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %marks, %none : !transform.param<i64>
    %packed, %panel, %copy_back = transform.structured.pad %block
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [3], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield %panel : !transform.any_op
  }

  // Cut convolutions into tiles of so many pixels of a row, and peel what is left of a row.
  transform.named_sequence private @tile_rows(%root: !transform.any_op {transform.readonly},
      %convolutions: !transform.any_op {transform.consumed}, %pixels: !transform.param<i64> {transform.readonly}) {
    transform.foreach %convolutions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %tiles:3 = transform.structured.fuse %each tile_sizes [1, 1, %pixels]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      %whole, %end = transform.include @split_off_rest failures(propagate) (%root, %tile, %tiles#2)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }

  // Windows of 3x3 over many pixels need 4 multiplications for a pixel instead of 9: the image and the filters are
  // transformed, multiplied as matrices, and transformed back.
  transform.named_sequence private @transform_large_maps(%root: !transform.any_op {transform.readonly},
      %winograd: !transform.param<i64> {transform.readonly}, %threads: !transform.param<i64> {transform.readonly},
      %lanes: !transform.param<i64> {transform.readonly}, %tile_w: !transform.param<i64> {transform.readonly},
      %tile_f: !transform.param<i64> {transform.readonly}, %tiles: !transform.param<i64> {transform.readonly}) {
    %all = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %marked = transform.foreach_match restrict_root in %all, %winograd @is_large_map -> @take_winograd
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %convolutions = transform.structured.match attributes {way = "winograd"} in %root : (!transform.any_op) -> !transform.any_op
    // What does not come out even in tiles of 2x2 pixels, whole vectors and shares of threads is left as it is.
    transform.foreach %convolutions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @multiply_transforms failures(suppress) (%each, %lanes, %tile_f, %tiles, %threads)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>) -> ()
    }
    %products = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops = transform.structured.fuse %products tile_sizes [%tile_w]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %whole, %rest = transform.include @split_off_rest failures(propagate) (%root, %tile, %loops)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @cut_into_steps failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @vectorize_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @keep_tile_in_registers failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @lower_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    // What follows takes other reductions only.
    %reductions = transform.structured.match ops{["scf.for"]} attributes {reduction} in %root : (!transform.any_op) -> !transform.any_op
    %done = transform.param.constant "done" -> !transform.any_param
    transform.annotate %reductions "reduction" = %done : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @multiply_transforms(%convolution: !transform.any_op {transform.consumed},
      %lanes: !transform.param<i64> {transform.readonly}, %tile_f: !transform.param<i64> {transform.readonly},
      %tiles: !transform.param<i64> {transform.readonly}, %threads: !transform.param<i64> {transform.readonly}) {
    %products = "lhkit.winograd_conv2d"(%convolution, %lanes, %tile_f, %tiles, %threads)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>, !transform.param<i64>)
      -> !transform.any_op
    transform.yield
  }
  // At least 12 rows of at least 12 pixels.
  transform.named_sequence private @is_large_map(%op: !transform.any_op {transform.readonly},
      %winograd: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf"] : !transform.any_op
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %winograd, %one : !transform.param<i64>
    %rows, %pixels = transform.match.structured %op : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%convolution: !transform.any_op):
      %h = transform.match.structured.dim %convolution[1] : (!transform.any_op) -> !transform.param<i64>
      %w = transform.match.structured.dim %convolution[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %h, %w : !transform.param<i64>, !transform.param<i64>
    }
    %least = transform.param.constant 12 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %least : !transform.param<i64>
    transform.match.param.cmpi ge %pixels, %least : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @take_winograd(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "winograd" -> !transform.any_param
    transform.annotate %op "way" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }

  // In parts/cpu.mlir:
  transform.named_sequence private @cut_into_steps(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @keep_tile_in_registers(!transform.any_op {transform.readonly})
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  transform.named_sequence private @split_off_rest(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
    -> (!transform.any_op, !transform.any_op)
  transform.named_sequence private @lower_contractions(!transform.any_op {transform.readonly})
  // In parts/images.mlir:
  transform.named_sequence private @keep_pixels_in_registers(!transform.any_op {transform.readonly})
  transform.named_sequence private @share_among_threads(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @drop_needless_copy(!transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
  transform.named_sequence private @vectorize_pixels(!transform.any_op {transform.consumed},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @vectorize_convolutions(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}) -> !transform.param<i64>
  transform.named_sequence private @mark_short_rows(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @has_unknown_filters(!transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @has_unknown_width(!transform.any_op {transform.readonly}) -> !transform.any_op
}
