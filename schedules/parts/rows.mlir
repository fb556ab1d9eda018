// Payload: tensors of rank 2, and of rank 1 for what there is one of a row; the sequences say what each takes.
// Idea:    the steps that softmax.mlir, layernorm.mlir and elementwise_chain.mlir share, to be included: a schedule
//          names this file and parts/cpu.mlir in comments (lhkit: library parts/rows.mlir) and declares the
//          sequences that it includes.
// Knobs:   none.
// What a payload does not have is not found, as where rows are whole numbers of tiles.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Let named ops that work by elements, rows or columns say so by their maps: what fuses them asks for that.
  transform.named_sequence @generalize_row_ops(%root: !transform.any_op {transform.readonly}) {
    %named = transform.structured.match ops{["linalg.abs", "linalg.add", "linalg.broadcast", "linalg.div", "linalg.elementwise",
      "linalg.erf", "linalg.exp", "linalg.log", "linalg.max", "linalg.min", "linalg.mul", "linalg.negf", "linalg.powf", "linalg.reciprocal",
      "linalg.reduce", "linalg.rsqrt", "linalg.sqrt", "linalg.square", "linalg.sub", "linalg.tanh"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  // Compute the result of the function row by row, and with each row all that it is computed from.
  transform.named_sequence @fuse_into_rows(%root: !transform.any_op {transform.readonly}) {
    %return = transform.structured.match ops{["func.return"]} in %root : (!transform.any_op) -> !transform.any_op
    %last = transform.get_producer_of_operand %return[0] : (!transform.any_op) -> !transform.any_op
    %row, %rows = transform.structured.fuse %last tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }

  // Make one of equal computations, and temporaries of a row of what were rows of a temporary.
  transform.named_sequence @share_in_rows(%root: !transform.any_op {transform.readonly}) {
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

  // Cut each op on a row into tiles of so many columns, sums and maxima into 64 partial ones that are combined at
  // the end of the row; ends are cut into vectors.
  transform.named_sequence @cut_rows(%root: !transform.any_op {transform.readonly},
      %columns: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %function @reduces_row -> @mark_reduction, @maps_row -> @mark_map : (!transform.any_op) -> !transform.any_op
    %reductions = transform.structured.match attributes {row = "reduction"} in %all : (!transform.any_op) -> !transform.any_op
    %maps = transform.structured.match attributes {row = "map"} in %all : (!transform.any_op) -> !transform.any_op
    transform.foreach %reductions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %fill, %part, %sum, %loop = transform.structured.tile_reduction_using_for %each by tile_sizes = [0, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
      %whole, %rest = transform.include @split_off_rest failures(propagate) (%all, %part, %loop)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.foreach %maps : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %part, %loop = transform.structured.tile_using_for %each tile_sizes [0, %columns]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      %whole, %rest = transform.include @split_off_rest failures(propagate) (%all, %part, %loop)
        : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    // What is no whole tile goes one vector a time, the last one masked.
    %tiles = transform.foreach_match in %all @is_uneven -> @mark_uneven : (!transform.any_op) -> !transform.any_op
    %uneven = transform.structured.match attributes {row = "uneven"} in %tiles : (!transform.any_op) -> !transform.any_op
    transform.foreach %uneven : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %vector, %vectors = transform.structured.tile_using_for %each tile_sizes [0, %lanes]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      transform.structured.vectorize %vector vector_sizes [1, %lanes] : !transform.any_op, !transform.param<i64>
    }
    transform.yield
  }

  // Make vectors of tiles and of what is left of a row, and keep partial sums in registers.
  transform.named_sequence @vectorize_row_tiles(%root: !transform.any_op {transform.readonly}) {
    %tiles = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %whole = transform.structured.match ops{["linalg.generic", "linalg.reduce", "linalg.fill"]} in %tiles : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %whole : !transform.any_op
    // At once, because other patterns would put several ops under a mask that may have only one.
    transform.apply_patterns to %tiles {
      transform.apply_patterns.vector.lower_masked_transfers
    } : !transform.any_op
    // Transfers keep their leading 1: bufferization takes a write of fewer dimensions than the tensor has for one
    // of the whole tensor, and leaves out the copy of the rest.
    transform.apply_patterns to %tiles {
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
      transform.apply_patterns.vector.lower_masks
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %tiles : !transform.any_op
    %loops = transform.structured.match ops{["scf.for"]} in %tiles : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.hoist_loop_invariant_subsets %each : !transform.any_op
    }
    transform.apply_patterns to %tiles {
      transform.apply_patterns.vector.reorder_multi_reduction_dims lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_flattening lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_unrolling lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.lower_broadcast
      transform.apply_patterns.vector.drop_unit_dims_with_shape_cast
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }

  // Let the parts of a sum be added in any order, quotients be products with the reciprocal, products be added
  // without being rounded first, and exponentials be approximations.
  transform.named_sequence @relax_arithmetic(%root: !transform.any_op {transform.readonly}) {
    %in_any_order = transform.param.constant #arith.fastmath<reassoc> -> !transform.any_param
    %by_reciprocal = transform.param.constant #arith.fastmath<arcp> -> !transform.any_param
    %in_one_step = transform.param.constant #arith.fastmath<contract> -> !transform.any_param
    %totals = transform.structured.match ops{["vector.reduction"]} in %root : (!transform.any_op) -> !transform.any_op
    %quotients = transform.structured.match ops{["arith.divf"]} in %root : (!transform.any_op) -> !transform.any_op
    %terms = transform.structured.match ops{["arith.mulf", "arith.addf"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %approximate = transform.param.constant #arith.fastmath<afn> -> !transform.any_param
    %exponentials = transform.structured.match ops{["math.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %exponentials "fastmath" = %approximate : !transform.any_op, !transform.any_param
    transform.annotate %totals "fastmath" = %in_any_order : !transform.any_op, !transform.any_param
    transform.annotate %quotients "fastmath" = %by_reciprocal : !transform.any_op, !transform.any_param
    transform.annotate %terms "fastmath" = %in_one_step : !transform.any_op, !transform.any_param
    transform.yield
  }

  // Write functions such as exp out as arithmetic, and compute once what is the same for all elements of a row.
  transform.named_sequence @expand_math_in_rows(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    "lhkit.expand_math"(%function) : (!transform.any_op) -> ()
    transform.apply_cse to %function : !transform.any_op
    %loops = transform.structured.match ops{["scf.for"]} in %function : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.yield
  }

  // Marks of what is done with an op on a row.
  transform.named_sequence private @mark_reduction(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "reduction" -> !transform.any_param
    transform.annotate %op "row" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_map(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "map" -> !transform.any_param
    transform.annotate %op "row" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_uneven(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "uneven" -> !transform.any_param
    transform.annotate %op "row" = %way : !transform.any_op, !transform.any_param
    transform.yield
  }
  // An op whose last loop is a reduction.
  transform.named_sequence private @reduces_row(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%generic: !transform.any_op):
      transform.match.structured.dim %generic[-1] {reduction} : !transform.any_op
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  // An op with two loops.
  transform.named_sequence private @maps_row(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %rank = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      %number = transform.match.structured.rank %generic : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number : !transform.param<i64>
    }
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %two : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // An op with two loops, the inner one of a length that is unknown or none of the tiles that the knobs offer.
  transform.named_sequence private @is_uneven(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %same = transform.include @maps_row failures(propagate) (%op) : (!transform.any_op) -> !transform.any_op
    %columns = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.param<i64> {
    ^bb0(%generic: !transform.any_op):
      %number = transform.match.structured.dim %generic[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number : !transform.param<i64>
    }
    %v16 = transform.param.constant 16 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %columns, %v16 : !transform.param<i64>
    %v32 = transform.param.constant 32 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %columns, %v32 : !transform.param<i64>
    %v64 = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %columns, %v64 : !transform.param<i64>
    %v128 = transform.param.constant 128 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ne %columns, %v128 : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
  transform.named_sequence private @split_off_rest(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
    -> (!transform.any_op, !transform.any_op)
}
