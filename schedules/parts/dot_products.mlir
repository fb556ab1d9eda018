// Payload: products of bf16 that are added up in f32, and of i8 or i16 that are added up in i32, with known extents:
//          linalg.matmul with the attribute factors, as lhkit.contraction_to_matmul writes them.
// Idea:    CPUs have instructions that add up the products of groups of 32 bits, pairs or fours of steps: x86 in vectors
//          (AVX512-BF16, AVX512-VNNI, AVX-VNNI; of pairs of i16, to which i8 is extended before, AVX2 and AVX-512) and
//          in matrix tiles (AMX). Some hundred rows at a time, so that these
//          rows stay in the second-level cache, strips of 128 columns of the right-hand side are copied into panels
//          of such groups, wide enough for several lines of each row to be read at once; 32 rows are multiplied with
//          32 columns at a time. What works on the result by elements follows while it is in the first-level cache.
//          lhkit's lowering turns what is marked then into these instructions, or into vectors of extended elements on
//          a CPU that lacks them; other programs leave the mark alone.
//          To be included: a schedule names this file and parts/cpu.mlir in comments
//          (lhkit: library parts/dot_products.mlir).
// Knobs:   none; %rows is how many rows go at a time, %bf16 and %i8 which instructions: 1 those of vectors, 2 of tiles;
//          %i8 3 those of pairs of i16 in vectors.
// Result:  that of cpu.mlir.
// Most payloads have none of this.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  transform.named_sequence @multiply_by_dot_products(%root: !transform.any_op {transform.readonly},
      %rows: !transform.param<i64> {transform.readonly}, %bf16: !transform.param<i64> {transform.readonly},
      %i8: !transform.param<i64> {transform.readonly}) {
    // Steps are filled up with zeros to whole tiles, and grouped. What ends a product goes with it.
    %ended = transform.param.constant "ended" -> !transform.any_param
    %bare = transform.param.constant "bare" -> !transform.any_param
    %ended_floats = transform.structured.match ops{["linalg.matmul"]} attributes {factors = "bf16", end = "epilogue"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @group_pairs failures(propagate) (%ended_floats, %ended, %bf16)
      : (!transform.any_op, !transform.any_param, !transform.param<i64>) -> ()
    %bare_floats = transform.structured.match ops{["linalg.matmul"]} attributes {factors = "bf16", end = "itself"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @group_pairs failures(propagate) (%bare_floats, %bare, %bf16)
      : (!transform.any_op, !transform.any_param, !transform.param<i64>) -> ()
    %ended_integers = transform.structured.match ops{["linalg.matmul"]} attributes {factors = "i8", end = "epilogue"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @group_fours failures(propagate) (%ended_integers, %ended, %i8)
      : (!transform.any_op, !transform.any_param, !transform.param<i64>) -> ()
    %bare_integers = transform.structured.match ops{["linalg.matmul"]} attributes {factors = "i8", end = "itself"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @group_fours failures(propagate) (%bare_integers, %bare, %i8)
      : (!transform.any_op, !transform.any_param, !transform.param<i64>) -> ()
    %ended_words = transform.structured.match ops{["linalg.matmul"]} attributes {factors = "i16", end = "epilogue"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @group_pairs_of_integers failures(propagate) (%ended_words, %ended, %i8)
      : (!transform.any_op, !transform.any_param, !transform.param<i64>) -> ()
    %bare_words = transform.structured.match ops{["linalg.matmul"]} attributes {factors = "i16", end = "itself"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @group_pairs_of_integers failures(propagate) (%bare_words, %bare, %i8)
      : (!transform.any_op, !transform.any_param, !transform.param<i64>) -> ()
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    // Blocks of rows, in them strips of columns, each with what ends its product.
    %with_end = transform.structured.match attributes {in_groups = "ended"} in %root : (!transform.any_op) -> !transform.any_op
    %epilogues = transform.foreach %with_end : !transform.any_op -> !transform.any_op {
    ^bb0(%product: !transform.any_op):
      %epilogue = transform.get_consumers_of_result %product[0] : (!transform.any_op) -> !transform.any_op
      %in_tiles = transform.param.constant "in tiles" -> !transform.any_param
      transform.annotate %epilogue "role" = %in_tiles : !transform.any_op, !transform.any_param
      transform.yield %epilogue : !transform.any_op
    }
    %without_end = transform.structured.match attributes {in_groups = "bare"} in %root : (!transform.any_op) -> !transform.any_op
    %ends = transform.merge_handles %epilogues, %without_end : !transform.any_op
    transform.foreach %ends : !transform.any_op {
    ^bb0(%end: !transform.any_op):
      %block, %blocks = transform.structured.fuse %end tile_sizes [%rows] {apply_cleanup}
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      %block_0, %block_1 = transform.include @split_off_rest failures(propagate) (%root, %block, %blocks)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
      %both = transform.merge_handles %block_0, %block_1 : !transform.any_op
      %strip, %strips = transform.structured.fuse %both tile_sizes [0, 128] {apply_cleanup}
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %strip_0, %strip_1 = transform.include @split_off_rest failures(propagate) (%root, %strip, %strips)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.annotate %strip_0 "strip_end" : !transform.any_op
      transform.annotate %strip_1 "strip_end" : !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // A panel is a buffer without gaps, and no part of a larger one.
    transform.apply_patterns to %functions {
      transform.apply_patterns.tensor.fold_tensor_empty
    } : !transform.any_op
    // Panels become loops of vectors, which nothing is fused with any more.
    %panels = transform.structured.match ops{["linalg.pack"]} attributes {panel} in %root : (!transform.any_op) -> !transform.any_op
    %groups, %over_groups = transform.structured.tile_using_for %panels tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %groups : !transform.any_op
    transform.apply_patterns to %functions {
      transform.apply_patterns.vector.lower_transpose lowering_strategy = shuffle_1d
    } : !transform.any_op
    %strip_ends = transform.structured.match attributes {strip_end} in %root : (!transform.any_op) -> !transform.any_op
    %tile_row, %tile_rows = transform.structured.fuse %strip_ends tile_sizes [32] {apply_cleanup}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile_row_0, %tile_row_1 = transform.include @split_off_rest failures(propagate) (%root, %tile_row, %tile_rows)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %all_tile_rows = transform.merge_handles %tile_row_0, %tile_row_1 : !transform.any_op
    %tile, %tiles = transform.structured.fuse %all_tile_rows tile_sizes [0, 32] {apply_cleanup}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile_0, %tile_1 = transform.include @split_off_rest failures(propagate) (%root, %tile, %tiles)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    // What ends a product becomes vectors of a row.
    %in_tiles_last = transform.structured.match attributes {strip_end, role = "in tiles"} in %root : (!transform.any_op) -> !transform.any_op
    %row, %over_rows = transform.structured.tile_using_for %in_tiles_last tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %row : !transform.any_op
    transform.yield
  }

  transform.named_sequence private @group_pairs(%products: !transform.any_op {transform.consumed},
      %way: !transform.any_param {transform.readonly}, %dots: !transform.param<i64> {transform.readonly}) {
    %whole, %fill, %back = transform.structured.pad %products pad_to_multiple_of [32]
      {padding_dimensions = [2], padding_values = [0.0 : bf16, 0.0 : bf16, 0.0 : f32], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.foreach %whole : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @write_out_if_filled failures(suppress) (%each) : (!transform.any_op) -> ()
      %pairs = transform.structured.pack %each packed_sizes = [0, 0, 2] : (!transform.any_op) -> !transform.op<"linalg.generic">
      transform.include @note_groups failures(propagate) (%pairs, %way, %dots)
        : (!transform.op<"linalg.generic">, !transform.any_param, !transform.param<i64>) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @group_pairs_of_integers(%products: !transform.any_op {transform.consumed},
      %way: !transform.any_param {transform.readonly}, %dots: !transform.param<i64> {transform.readonly}) {
    %whole, %fill, %back = transform.structured.pad %products pad_to_multiple_of [2]
      {padding_dimensions = [2], padding_values = [0 : i16, 0 : i16, 0 : i32], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.foreach %whole : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @write_out_if_filled failures(suppress) (%each) : (!transform.any_op) -> ()
      %pairs = transform.structured.pack %each packed_sizes = [0, 0, 2] : (!transform.any_op) -> !transform.op<"linalg.generic">
      transform.include @note_groups failures(propagate) (%pairs, %way, %dots)
        : (!transform.op<"linalg.generic">, !transform.any_param, !transform.param<i64>) -> ()
    }
    transform.yield
  }
  transform.named_sequence private @group_fours(%products: !transform.any_op {transform.consumed},
      %way: !transform.any_param {transform.readonly}, %dots: !transform.param<i64> {transform.readonly}) {
    %whole, %fill, %back = transform.structured.pad %products pad_to_multiple_of [64]
      {padding_dimensions = [2], padding_values = [0 : i8, 0 : i8, 0 : i32], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.foreach %whole : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @write_out_if_filled failures(suppress) (%each) : (!transform.any_op) -> ()
      %fours = transform.structured.pack %each packed_sizes = [0, 0, 4] : (!transform.any_op) -> !transform.op<"linalg.generic">
      transform.include @note_groups failures(propagate) (%fours, %way, %dots)
        : (!transform.op<"linalg.generic">, !transform.any_param, !transform.param<i64>) -> ()
    }
    transform.yield
  }
  // What was filled up of the left-hand side is written once, and not with every tile that reads it.
  transform.named_sequence private @write_out_if_filled(%product: !transform.any_op {transform.readonly}) {
    transform.include @write_out_filled failures(propagate) (%product) : (!transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @write_out_filled(%product: !transform.any_op {transform.readonly}) {
    %left = transform.get_producer_of_operand %product[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %left ["tensor.pad"] : !transform.any_op
    %written = transform.structured.rewrite_in_destination_passing_style %left : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  // Mark a product of groups, and what copies its right-hand side into them; groups of the left-hand side lie in memory
  // as they are.
  transform.named_sequence private @note_groups(%product: !transform.op<"linalg.generic"> {transform.readonly},
      %way: !transform.any_param {transform.readonly}, %dots: !transform.param<i64> {transform.readonly}) {
    transform.annotate %product "in_groups" = %way : !transform.op<"linalg.generic">, !transform.any_param
    // For lhkit's lowering.
    transform.annotate %product "dot_products" = %dots : !transform.op<"linalg.generic">, !transform.param<i64>
    %panel = transform.get_producer_of_operand %product[1] : (!transform.op<"linalg.generic">) -> !transform.any_op
    transform.annotate %panel "panel" : !transform.any_op
    %left = transform.get_producer_of_operand %product[0] : (!transform.op<"linalg.generic">) -> !transform.any_op
    %pack = transform.cast %left : !transform.any_op to !transform.op<"linalg.pack">
    %pad, %expand, %transpose = transform.structured.lower_pack %pack
      : (!transform.op<"linalg.pack">) -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)
    transform.yield
  }

  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  transform.named_sequence private @split_off_rest(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
    -> (!transform.any_op, !transform.any_op)
}
