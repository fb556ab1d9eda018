// Payload: fully connected layers: matmuls of f32, the result of each as it is or read by ops that work by elements,
//          such as the addition of a bias and a ReLU; the sequences say what each takes.
// Idea:    the steps that fc_relu.mlir and mlp.mlir share, to be included: a schedule names this file and
//          parts/cpu.mlir in comments (lhkit: library parts/layers.mlir) and declares the sequences that it includes.
// Knobs:   none.
// What a payload does not have is not found, as where tiles come out even.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Make one op of all that is computed from a matmul's result element by element, the epilogue of its layer, and mark
  // the op that ends each layer.
  transform.named_sequence @merge_epilogues(%root: !transform.any_op {transform.readonly}) {
    %named = transform.structured.match ops{["linalg.abs", "linalg.add", "linalg.broadcast", "linalg.copy",
      "linalg.elementwise", "linalg.max", "linalg.min", "linalg.mul", "linalg.negf", "linalg.square", "linalg.sub"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    %apart = transform.param.constant "apart" -> !transform.any_param
    %matrices = transform.collect_matching @is_matrix_by_elements in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %matrices "role" = %apart : !transform.any_op, !transform.any_param
    transform.include @mark_ends failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // A layer ends with its epilogue if that is the only op that reads the matmul, and reads no other matmul; else with
  // the matmul itself.
  transform.named_sequence @mark_ends(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    // Matchers may not ask for results that are not there, as on memrefs.
    // lhkit: allow unused-handle
    %results = transform.get_result %matmuls[0] : (!transform.any_op) -> !transform.any_value
    %itself = transform.param.constant "itself" -> !transform.any_param
    transform.annotate %matmuls "end" = %itself : !transform.any_op, !transform.any_param
    %all = transform.foreach_match in %function @is_read_once -> @mark_reader : (!transform.any_op) -> !transform.any_op
    %all_1 = transform.foreach_match in %all @is_read_once -> @mark_epilogue : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @is_read_once(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_op) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %reader = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      %user = transform.match.structured.result %matmul[0] {single} : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %user : !transform.any_op
    }
    %rows_and_columns = transform.include @is_matrix_by_elements failures(propagate) (%reader) : (!transform.any_op) -> !transform.any_op
    transform.yield %op, %reader : !transform.any_op, !transform.any_op
  }
  transform.named_sequence private @is_matrix_by_elements(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %rank = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[all] {parallel} : !transform.any_op
      %loops = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %loops : !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A reader that is met again reads two matmuls.
  transform.named_sequence private @mark_reader(%matmul: !transform.any_op {transform.readonly},
      %reader: !transform.any_op {transform.readonly}) {
    %again = transform.structured.match attributes {reads_matmul} in %reader : (!transform.any_op) -> !transform.any_op
    transform.annotate %again "reads_matmuls" : !transform.any_op
    transform.annotate %reader "reads_matmul" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @mark_epilogue(%matmul: !transform.any_op {transform.readonly},
      %reader: !transform.any_op {transform.readonly}) {
    %ending, %epilogue = transform.include @both_or_nothing failures(suppress) (%matmul, %reader)
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %by_epilogue = transform.param.constant "epilogue" -> !transform.any_param
    transform.annotate %ending "end" = %by_epilogue : !transform.any_op, !transform.any_param
    transform.annotate %epilogue "role" = %by_epilogue : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @both_or_nothing(%matmul: !transform.any_op {transform.readonly},
      %reader: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_op) {
    %ending, %epilogue = transform.include @unless_it_reads_another failures(propagate) (%matmul, %reader)
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %ending, %epilogue : !transform.any_op, !transform.any_op
  }
  transform.named_sequence private @unless_it_reads_another(%matmul: !transform.any_op {transform.readonly},
      %reader: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_op) {
    %again = transform.structured.match attributes {reads_matmuls} in %reader : (!transform.any_op) -> !transform.any_op
    %count = transform.num_associations %again : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %count, %none : !transform.param<i64>
    transform.yield %matmul, %reader : !transform.any_op, !transform.any_op
  }

  // Cut layers into tiles that stay in registers. A panel of the weights would not be read often enough by up to 12
  // rows, nor in a reduction of up to 32 steps; up to 576 columns and 512 steps are read from where they are as fast
  // as from a panel by tiles of 64 columns and more (narrower ones use a line or two of each row, and such lines, far
  // apart, drive each other out of the caches); all other layers read the weights from panels.
  transform.named_sequence @tile_layers(%root: !transform.any_op {transform.readonly},
      %tile_m: !transform.param<i64> {transform.readonly}, %tile_n: !transform.param<i64> {transform.readonly},
      %narrow_tile_m: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    // What works by elements and ends no layer is computed row by row, and in loops it is fused into none.
    %apart = transform.structured.match attributes {role = "apart"} in %root : (!transform.any_op) -> !transform.any_op
    %pieces = transform.foreach %apart : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %piece, %columns = transform.structured.tile_using_for %each tile_sizes [0, %tile_n]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      transform.yield %piece : !transform.any_op
    }
    transform.include @vectorize_rows failures(propagate) (%pieces, %tile_n)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @mark_constant_addends failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %function, %tile_n @is_small_tile -> @go_whole,
      @has_constant_weights -> @go_by_constant_panels, @has_few_rows -> @go_by_rows, @has_few_steps -> @go_by_rows, @has_few_weights -> @go_by_strips,
      @is_layer -> @go_by_panels
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.include @panels_of_marked_constants failures(propagate) (%root) : (!transform.any_op) -> ()
    %layers = transform.foreach %all : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %in_one = transform.structured.match ops{["linalg.matmul"]} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %in_one : !transform.any_op
    }
    // Always from the first layer to the last, and without cleaning up in between: loops around a layer are what keeps
    // it from being fused into the next.
    %wide_0, %narrow_0, %last_0, %wide, %narrow, %last = transform.foreach %layers : !transform.any_op
      -> !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op {
    ^bb0(%layer: !transform.any_op):
      %by_rows = transform.structured.match attributes {layer = "rows"} in %layer : (!transform.any_op) -> !transform.any_op
      %by_strips = transform.structured.match attributes {layer = "strips"} in %layer : (!transform.any_op) -> !transform.any_op
      %by_panels = transform.structured.match attributes {layer = "panels"} in %layer : (!transform.any_op) -> !transform.any_op
      // Without panels, rows come first: a tile of rows then writes the result from left to right.
      %end = transform.include @ends_of failures(propagate) (%by_rows) : (!transform.any_op) -> !transform.any_op
      %unpacked = transform.include @cut_into_tiles failures(propagate) (%root, %end, %tile_m)
        : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> !transform.any_op
      %wide_of_rows, %narrow_of_rows, %last_of_rows = transform.include @cut_into_strips failures(propagate) (%root, %unpacked, %tile_n, %lanes)
        : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>)
        -> (!transform.any_op, !transform.any_op, !transform.any_op)
      // Otherwise strips of columns come first.
      %wide_1, %narrow_1, %last_1 = transform.include @cut_into_strips failures(propagate) (%root, %by_strips, %tile_n, %lanes)
        : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>)
        -> (!transform.any_op, !transform.any_op, !transform.any_op)
      %wide_2, %narrow_2, %last_2 = transform.include @cut_into_strips failures(propagate) (%root, %by_panels, %tile_n, %lanes)
        : (!transform.any_op, !transform.any_op, !transform.param<i64>, !transform.param<i64>)
        -> (!transform.any_op, !transform.any_op, !transform.any_op)
      %last_3 = transform.merge_handles %last_1, %last_2 : !transform.any_op
      transform.yield %wide_1, %narrow_1, %last_of_rows, %wide_2, %narrow_2, %last_3
        : !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    %wide_strips_0 = transform.include @ends_of failures(propagate) (%wide_0) : (!transform.any_op) -> !transform.any_op
    %narrow_strips_0 = transform.include @ends_of failures(propagate) (%narrow_0) : (!transform.any_op) -> !transform.any_op
    %wide_strips_1 = transform.include @pack_panels failures(propagate) (%root, %wide, %tile_n)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> !transform.any_op
    %narrow_strips_1 = transform.include @pack_panels failures(propagate) (%root, %narrow, %lanes)
      : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> !transform.any_op
    %filled_up_0 = transform.include @fill_up failures(propagate) (%last_0, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %filled_up = transform.include @fill_up failures(propagate) (%last, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    %wide_strips = transform.merge_handles %wide_strips_0, %wide_strips_1 : !transform.any_op
    %narrow_strips = transform.merge_handles %narrow_strips_0, %narrow_strips_1, %filled_up : !transform.any_op
    transform.include @mark_strips failures(propagate) (%wide_strips, %narrow_strips)
      : (!transform.any_op, !transform.any_op) -> ()
    // A fill that is padded becomes a wider fill.
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %all_moves = transform.structured.match ops{["tensor.pad", "linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
    %moves = transform.foreach %all_moves : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %own = transform.include @unless_foreign failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %own : !transform.any_op
    }
    transform.include @vectorize_rows failures(propagate) (%moves, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()

    // Tiles of rows, and what is left at the bottom: as it is, or row by row if their number is dynamic.
    %strips = transform.structured.match attributes {is_strip} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %strips : !transform.any_op {
    ^bb0(%strip: !transform.any_op):
      %high = transform.structured.match attributes {strip = "wide"} in %strip : (!transform.any_op) -> !transform.any_op
      %low = transform.structured.match attributes {strip = "narrow"} in %strip : (!transform.any_op) -> !transform.any_op
      %tiles = transform.include @cut_into_tiles failures(propagate) (%root, %high, %tile_m)
        : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> !transform.any_op
      %tiles_1 = transform.include @cut_into_tiles failures(propagate) (%root, %low, %narrow_tile_m)
        : (!transform.any_op, !transform.any_op, !transform.param<i64>) -> !transform.any_op
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    %of_unknown_height = transform.collect_matching @has_unknown_height in %root
      : (!transform.any_op) -> !transform.any_op
    // The first loop of what is no layer's may be a reduction.
    %of_layers = transform.foreach %of_unknown_height : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %matmul = transform.structured.match ops{["linalg.matmul"]} in %each : (!transform.any_op) -> !transform.any_op
      %epilogue = transform.structured.match attributes {role = "epilogue"} in %each : (!transform.any_op) -> !transform.any_op
      %either = transform.merge_handles %matmul, %epilogue : !transform.any_op
      transform.yield %either : !transform.any_op
    }
    %row, %rows = transform.structured.fuse %of_layers tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Make vectors of the tiles of layers, which may have so many rows and columns, and keep them in registers until
  // they are done. Anything larger is refused, as is what lost its contraction.
  transform.named_sequence @vectorize_layers(%root: !transform.any_op {transform.readonly},
      %rows: !transform.param<i64> {transform.readonly}, %columns: !transform.param<i64> {transform.readonly}) {
    transform.include @cut_into_steps failures(propagate) (%root) : (!transform.any_op) -> ()
    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %layers = transform.num_associations %matmuls : (!transform.any_op) -> !transform.param<i64>
    transform.include @refuse_large_vectors failures(propagate) (%root, %rows, %columns)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    %epilogues = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @vectorize_steps failures(propagate) (%root, %epilogues) : (!transform.any_op, !transform.any_op) -> ()
    transform.include @require_contractions failures(propagate) (%root, %layers)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield
  }
  // Make vectors of the tiles of layers in a payload that has other ops too.
  transform.named_sequence @vectorize_layer_tiles(%root: !transform.any_op {transform.readonly}) {
    transform.include @cut_into_steps failures(propagate) (%root) : (!transform.any_op) -> ()
    %epilogues = transform.structured.match ops{["linalg.generic"]} attributes {role = "epilogue"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.include @vectorize_steps failures(propagate) (%root, %epilogues) : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }
  transform.named_sequence private @vectorize_steps(%root: !transform.any_op {transform.readonly},
      %epilogues: !transform.any_op {transform.consumed}) {
    transform.structured.vectorize %epilogues : !transform.any_op
    transform.include @vectorize_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @keep_tile_in_registers failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @relax_maxima failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Let maxima with a constant give a zero of either sign: the instruction for such a maximum is one, and passes NaNs
  // on; to tell -0.0 from 0.0 as well takes three.
  transform.named_sequence private @relax_maxima(%root: !transform.any_op {transform.readonly}) {
    %maxima = transform.collect_matching @is_maximum_with_constant in %root : (!transform.any_op) -> !transform.any_op
    %either_sign = transform.param.constant #arith.fastmath<nsz> -> !transform.any_param
    transform.annotate %maxima "fastmath" = %either_sign : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @is_maximum_with_constant(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["arith.maximumf"] : !transform.any_op
    %constant = transform.get_producer_of_operand %op[1] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %constant ["arith.constant"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }

  // What a schedule has marked as no layer's.
  transform.named_sequence private @unless_foreign(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %own = transform.include @is_not_foreign failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    transform.yield %own : !transform.any_op
  }
  transform.named_sequence private @is_not_foreign(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %foreign = transform.structured.match attributes {foreign} in %op : (!transform.any_op) -> !transform.any_op
    %marks = transform.num_associations %foreign : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %marks, %none : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // The op that ends the layer of each matmul: the epilogue, or the matmul itself.
  transform.named_sequence @ends_of(%matmuls: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %ends = transform.foreach %matmuls : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %bare = transform.structured.match attributes {end = "itself"} in %each : (!transform.any_op) -> !transform.any_op
      %with_epilogue = transform.structured.match attributes {end = "epilogue"} in %each : (!transform.any_op) -> !transform.any_op
      %epilogue = transform.get_consumers_of_result %with_epilogue[0] : (!transform.any_op) -> !transform.any_op
      %end = transform.merge_handles %epilogue, %bare : !transform.any_op
      transform.yield %end : !transform.any_op
    }
    transform.yield %ends : !transform.any_op
  }

  // The matmuls whose layer ends with an epilogue, and those that end it themselves.
  transform.named_sequence private @tell_by_end(%matmuls: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_op) {
    %with_epilogue, %bare = transform.foreach %matmuls : !transform.any_op -> !transform.any_op, !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %0 = transform.structured.match attributes {end = "epilogue"} in %each : (!transform.any_op) -> !transform.any_op
      %1 = transform.structured.match attributes {end = "itself"} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %0, %1 : !transform.any_op, !transform.any_op
    }
    transform.yield %with_epilogue, %bare : !transform.any_op, !transform.any_op
  }

  // The matmuls in loops, without the copies that fusing left behind unused.
  transform.named_sequence private @matmuls_in(%root: !transform.any_op {transform.readonly},
      %loops: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_dce to %function : !transform.any_op
    %matmuls = transform.foreach %loops : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %matmul = transform.structured.match ops{["linalg.matmul"]} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %matmul : !transform.any_op
    }
    transform.yield %matmuls : !transform.any_op
  }

  // Cut layers into strips of columns; gives the matmuls of wide ones, of ones as wide as a vector, and of the
  // narrower one at the end.
  transform.named_sequence private @cut_into_strips(%root: !transform.any_op {transform.readonly}, %matmuls: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly})
      -> (!transform.any_op, !transform.any_op, !transform.any_op) {
    %layers = transform.include @ends_of failures(propagate) (%matmuls) : (!transform.any_op) -> !transform.any_op
    %strip, %strips = transform.structured.fuse %layers tile_sizes [0, %tile_n]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %in_strips = transform.include @matmuls_in failures(propagate) (%root, %strips)
      : (!transform.any_op, !transform.any_op) -> !transform.any_op
    %wide, %others = transform.include @split_off_rest failures(propagate) (%root, %in_strips, %strips)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %layers_1 = transform.include @ends_of failures(propagate) (%others) : (!transform.any_op) -> !transform.any_op
    %strip_1, %strips_1 = transform.structured.fuse %layers_1 tile_sizes [0, %lanes]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %in_strips_1 = transform.include @matmuls_in failures(propagate) (%root, %strips_1)
      : (!transform.any_op, !transform.any_op) -> !transform.any_op
    %narrow, %last = transform.include @split_off_rest failures(propagate) (%root, %in_strips_1, %strips_1)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %wide, %narrow, %last : !transform.any_op, !transform.any_op, !transform.any_op
  }

  // Cut layers, each given by its last op, into tiles of so many rows, the rows left at the bottom apart; gives the
  // matmuls.
  transform.named_sequence private @cut_into_tiles(%root: !transform.any_op {transform.readonly}, %ops: !transform.any_op {transform.consumed},
      %tile_m: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %tile, %tiles = transform.structured.fuse %ops tile_sizes [%tile_m] {apply_cleanup}
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %in_tiles = transform.include @matmuls_in failures(propagate) (%root, %tiles)
      : (!transform.any_op, !transform.any_op) -> !transform.any_op
    %whole, %bottom = transform.include @split_off_rest failures(propagate) (%root, %in_tiles, %tiles)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %both = transform.merge_handles %whole, %bottom : !transform.any_op
    transform.yield %both : !transform.any_op
  }

  // Copy the columns of the weights that a strip reads once, into a panel without gaps, and those of a bias that is a
  // constant matrix; gives the ends of the layers.
  transform.named_sequence private @pack_panels(%root: !transform.any_op {transform.readonly}, %matmuls: !transform.any_op {transform.consumed},
      %columns: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %with_epilogue, %others = transform.include @tell_by_end failures(propagate) (%matmuls)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %unpacked = transform.include @ends_of failures(propagate) (%with_epilogue) : (!transform.any_op) -> !transform.any_op
    transform.include @hoist_constant_addends failures(propagate) (%unpacked) : (!transform.any_op) -> ()
    %epilogues = transform.include @ends_of failures(propagate) (%with_epilogue) : (!transform.any_op) -> !transform.any_op
    // Padding by nothing that may not be folded away is a copy.
    %packed, %panels, %copy_back = transform.structured.pad %matmuls
      {padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %all_panels = transform.include @hoist_constant_panels failures(propagate) (%root, %packed, %panels)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> !transform.any_op
    transform.include @vectorize_rows failures(propagate) (%all_panels, %columns)
      : (!transform.any_op, !transform.param<i64>) -> ()
    %packed_with_epilogue, %bare = transform.include @tell_by_end failures(propagate) (%packed)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %ends = transform.merge_handles %epilogues, %bare : !transform.any_op
    transform.yield %ends : !transform.any_op
  }

  // Fill up with zeros what is narrower than a vector, so that it is computed beside its place; the epilogue runs
  // over it at the end, row by row, or a copy where there is none. Gives the matmuls again.
  transform.named_sequence private @fill_up(%matmuls: !transform.any_op {transform.consumed},
      %lanes: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %with_epilogue, %bare = transform.include @tell_by_end failures(propagate) (%matmuls)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %epilogues = transform.include @ends_of failures(propagate) (%with_epilogue) : (!transform.any_op) -> !transform.any_op
    transform.include @vectorize_rows failures(propagate) (%epilogues, %lanes)
      : (!transform.any_op, !transform.param<i64>) -> ()
    %filled_up, %pads, %copy_back = transform.structured.pad %with_epilogue pad_to_multiple_of [%lanes]
      {padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %filled_up_1, %pads_1, %copies = transform.structured.pad %bare pad_to_multiple_of [%lanes]
      {padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "linalg.copy"}
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %both = transform.merge_handles %filled_up, %filled_up_1 : !transform.any_op
    transform.yield %both : !transform.any_op
  }

  // Mark the ops at which strips are cut into tiles of rows.
  transform.named_sequence private @mark_strips(%wide: !transform.any_op {transform.readonly},
      %narrow: !transform.any_op {transform.readonly}) {
    %is_wide = transform.param.constant "wide" -> !transform.any_param
    %is_narrow = transform.param.constant "narrow" -> !transform.any_param
    transform.annotate %wide "strip" = %is_wide : !transform.any_op, !transform.any_param
    transform.annotate %narrow "strip" = %is_narrow : !transform.any_op, !transform.any_param
    %strips = transform.merge_handles %wide, %narrow : !transform.any_op
    transform.annotate %strips "is_strip" : !transform.any_op
    transform.yield
  }

  // Marks of the ways.
  transform.named_sequence private @go_by_rows(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "rows" -> !transform.any_param
    transform.annotate %op "layer" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @go_by_panels(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "panels" -> !transform.any_param
    transform.annotate %op "layer" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @go_by_strips(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "strips" -> !transform.any_param
    transform.annotate %op "layer" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @go_whole(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "whole" -> !transform.any_param
    transform.annotate %op "layer" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  // A matmul of up to 8 rows and of 4 or 8 columns is a tile as it is: filled up to wider vectors it would be copied.
  transform.named_sequence private @is_small_tile(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%matmul: !transform.any_op):
      %height = transform.match.structured.dim %matmul[0] : (!transform.any_op) -> !transform.param<i64>
      %width = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %height, %width : !transform.param<i64>, !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %half = transform.param.constant 4 : i64 -> !transform.param<i64>
    %most = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %least : !transform.param<i64>
    transform.match.param.cmpi le %rows, %most : !transform.param<i64>
    transform.match.param.cmpi ge %columns, %half : !transform.param<i64>
    transform.match.param.cmpi le %columns, %most : !transform.param<i64>
    // Not 5, 6 or 7.
    %between = transform.param.constant 5 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %columns, %between : !transform.param<i64>
    %between_1 = transform.param.constant 6 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %columns, %between_1 : !transform.param<i64>
    %between_2 = transform.param.constant 7 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %columns, %between_2 : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul of up to 12 rows.
  transform.named_sequence private @has_few_rows(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %rows = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%matmul: !transform.any_op):
      %size = transform.match.structured.dim %matmul[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size : !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most = transform.param.constant 12 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %least : !transform.param<i64>
    transform.match.param.cmpi le %rows, %most : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul with a reduction of up to 32 steps.
  transform.named_sequence private @has_few_steps(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %steps = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%matmul: !transform.any_op):
      %size = transform.match.structured.dim %matmul[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size : !transform.param<i64>
    }
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %steps, %least : !transform.param<i64>
    transform.match.param.cmpi le %steps, %most : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // A matmul with up to 576 columns and a reduction of up to 512 steps, in tiles of at least 64 columns.
  transform.named_sequence private @has_few_weights(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %columns, %steps = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%matmul: !transform.any_op):
      %size_1 = transform.match.structured.dim %matmul[1] : (!transform.any_op) -> !transform.param<i64>
      %size_2 = transform.match.structured.dim %matmul[2] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size_1, %size_2 : !transform.param<i64>, !transform.param<i64>
    }
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most_columns = transform.param.constant 576 : i64 -> !transform.param<i64>
    %most_steps = transform.param.constant 512 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %columns, %least : !transform.param<i64>
    transform.match.param.cmpi le %columns, %most_columns : !transform.param<i64>
    transform.match.param.cmpi ge %steps, %least : !transform.param<i64>
    transform.match.param.cmpi le %steps, %most_steps : !transform.param<i64>
    %least_tile = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %tile_n, %least_tile : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // Any matmul.
  transform.named_sequence private @is_layer(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }

  // A matmul or an epilogue with a dynamic number of rows.
  transform.named_sequence private @has_unknown_height(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul", "linalg.generic"] : !transform.any_op
    %rows = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%structured: !transform.any_op):
      %size = transform.match.structured.dim %structured[0] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size : !transform.param<i64>
    }
    %zero = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi lt %rows, %zero : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // In parts/packed.mlir:
  transform.named_sequence private @hoist_constant_panels(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed}) -> !transform.any_op
  transform.named_sequence private @hoist_constant_addends(!transform.any_op {transform.consumed})
  transform.named_sequence private @mark_constant_addends(!transform.any_op {transform.readonly})
  transform.named_sequence private @go_by_constant_panels(!transform.any_op {transform.readonly})
  transform.named_sequence private @has_constant_weights(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}) -> !transform.any_op
  transform.named_sequence private @panels_of_marked_constants(!transform.any_op {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  transform.named_sequence private @split_off_rest(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
    -> (!transform.any_op, !transform.any_op)
  transform.named_sequence private @vectorize_rows(!transform.any_op {transform.consumed},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @cut_into_steps(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @keep_tile_in_registers(!transform.any_op {transform.readonly})
  transform.named_sequence private @require_contractions(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly})
  transform.named_sequence private @refuse_large_vectors(!transform.any_op {transform.readonly},
    !transform.param<i64> {transform.readonly}, !transform.param<i64> {transform.readonly})
}
