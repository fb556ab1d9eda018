// Payload: any; the sequences say what each takes.
// Idea:    the steps that fast schedules for CPUs share, to be included: a schedule names this file in a comment
//          (lhkit: library parts/cpu.mlir) and declares the sequences that it includes. Loops over a reduction get the
//          mark "prefetch": lhkit inserts prefetches of what their tile ends with, and of the next strip's panel where
//          panels were filled beforehand; other programs ignore the mark.
// Knobs:   none.
// What a payload does not have is not found, as where tiles come out even.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Fold what tiling, fusing and packing leave behind: slices of slices, minima, loops that run once.
  transform.named_sequence @clean_up(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.scf.for_loop_canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }

  // Split off the last, shorter iteration of a loop around an op; gives the op in whole tiles, and in the rest.
  transform.named_sequence @split_off_rest(%root: !transform.any_op {transform.readonly},
      %op: !transform.any_op {transform.readonly}, %loop: !transform.any_op {transform.consumed})
      -> (!transform.any_op, !transform.any_op) {
    // Peeling copies the op, and an attribute is what tells the copies apart.
    %whole = transform.param.constant "whole" -> !transform.any_param
    %rest = transform.param.constant "rest" -> !transform.any_param
    %known = transform.param.constant "known" -> !transform.any_param
    transform.annotate %op "part" = %whole : !transform.any_op, !transform.any_param
    %last = transform.foreach %loop : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %rest_loop = transform.include @peel_if_uneven failures(suppress) (%each) : (!transform.any_op) -> !transform.any_op
      transform.yield %rest_loop : !transform.any_op
    }
    %in_rest = transform.foreach %last : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %copy = transform.structured.match attributes {part = "whole"} in %each : (!transform.any_op) -> !transform.any_op
      transform.annotate %copy "part" = %rest : !transform.any_op, !transform.any_param
      transform.yield %copy : !transform.any_op
    }
    %in_whole = transform.structured.match attributes {part = "whole"} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.annotate %in_whole "part" = %known : !transform.any_op, !transform.any_param
    transform.yield %in_whole, %in_rest : !transform.any_op, !transform.any_op
  }

  // Peeling fails where tiles come out even; then there is no rest.
  transform.named_sequence private @peel_if_uneven(%loop: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %for = transform.cast %loop : !transform.any_op to !transform.op<"scf.for">
    // lhkit: allow suppressed-failure
    %main, %rest = transform.loop.peel %for : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    transform.yield %rest : !transform.any_op
  }

  // Copy or pad matrices row by row, a row as one vector of so many elements that is masked where it is shorter.
  transform.named_sequence @vectorize_rows(%ops: !transform.any_op {transform.consumed},
      %elements: !transform.param<i64> {transform.readonly}) {
    %function = transform.get_parent_op %ops {op_name = "func.func", deduplicate}
      : (!transform.any_op) -> !transform.any_op
    transform.foreach %ops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %row, %rows = transform.structured.tile_using_for %each tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.structured.vectorize %row vector_sizes [1, %elements] : !transform.any_op, !transform.param<i64>
    }
    // At once, because canonicalization would make a copy of slices of what reads and writes a whole row.
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
    } : !transform.any_op
    transform.yield
  }

  // Cut the reduction of each matmul into steps, and tiles that are three vectors wide into vectors.
  transform.named_sequence @cut_into_steps(%root: !transform.any_op {transform.readonly}) {
    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %steps, %reductions = transform.structured.tile_using_for %matmuls tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %reductions "reduction" : !transform.any_op
    transform.annotate %reductions "prefetch" : !transform.any_op
    // What is left at an end is not worth the code of four steps.
    %rest = transform.param.constant "rest" -> !transform.any_param
    %steps_at_ends = transform.structured.match ops{["linalg.matmul"]} attributes {part = "rest"} in %root
      : (!transform.any_op) -> !transform.any_op
    %reductions_at_ends = transform.get_parent_op %steps_at_ends {op_name = "scf.for"} : (!transform.any_op) -> !transform.any_op
    transform.annotate %reductions_at_ends "reduction" = %rest : !transform.any_op, !transform.any_param
    transform.include @cut_into_vectors failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Cut steps, fills and epilogues of tiles that are three vectors wide into vectors, row by row: LLVM rounds a vector
  // up to a power of two, and keeps a tile in 16 registers only if it is computed row by row.
  transform.named_sequence @cut_into_vectors(%root: !transform.any_op {transform.readonly}) {
    %of_4 = transform.collect_matching @is_12_wide in %root : (!transform.any_op) -> !transform.any_op
    %vector_4, %loops_4:2 = transform.structured.tile_using_for %of_4 tile_sizes [1, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %of_8 = transform.collect_matching @is_24_wide in %root : (!transform.any_op) -> !transform.any_op
    %vector_8, %loops_8:2 = transform.structured.tile_using_for %of_8 tile_sizes [1, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %of_16 = transform.collect_matching @is_48_wide in %root : (!transform.any_op) -> !transform.any_op
    %vector_16, %loops_16:2 = transform.structured.tile_using_for %of_16 tile_sizes [1, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %columns = transform.merge_handles %loops_4#1, %loops_8#1, %loops_16#1 : !transform.any_op
    transform.loop.unroll %columns {factor = 3} : !transform.any_op
    %rows = transform.merge_handles %loops_4#0, %loops_8#0, %loops_16#0 : !transform.any_op
    transform.annotate %rows "rows" : !transform.any_op
    // A factor above the number of iterations does nothing; the largest of the others is that number.
    %rows_8 = transform.structured.match ops{["scf.for"]} attributes {rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %rows_8 {factor = 8} : !transform.any_op
    %rows_7 = transform.structured.match ops{["scf.for"]} attributes {rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %rows_7 {factor = 7} : !transform.any_op
    %rows_6 = transform.structured.match ops{["scf.for"]} attributes {rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %rows_6 {factor = 6} : !transform.any_op
    %rows_5 = transform.structured.match ops{["scf.for"]} attributes {rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %rows_5 {factor = 5} : !transform.any_op
    %rows_4 = transform.structured.match ops{["scf.for"]} attributes {rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %rows_4 {factor = 4} : !transform.any_op
    %rows_3 = transform.structured.match ops{["scf.for"]} attributes {rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %rows_3 {factor = 3} : !transform.any_op
    %rows_2 = transform.structured.match ops{["scf.for"]} attributes {rows} in %root : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %rows_2 {factor = 2} : !transform.any_op
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Make each step of a matmul's reduction a contraction of vectors, and each fill of a tile a vector.
  transform.named_sequence @vectorize_tiles(%root: !transform.any_op {transform.readonly}) {
    %steps = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %fills = transform.collect_matching @fills_a_tile in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %steps {create_named_contraction} : !transform.any_op
    transform.structured.vectorize %fills : !transform.any_op
    transform.yield
  }

  transform.named_sequence private @is_12_wide(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %columns = transform.include @width_of_tile failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 12 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %columns, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_24_wide(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %columns = transform.include @width_of_tile failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 24 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %columns, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_48_wide(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %columns = transform.include @width_of_tile failures(propagate) (%op) : (!transform.any_op) -> !transform.param<i64>
    %wanted = transform.param.constant 48 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %columns, %wanted : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  // The columns of a tile of at most 8 rows.
  transform.named_sequence private @width_of_tile(%op: !transform.any_op {transform.readonly}) -> !transform.param<i64> {
    transform.match.operation_name %op ["linalg.fill", "linalg.generic", "linalg.matmul"] : !transform.any_op
    %rank, %rows, %columns = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%tile: !transform.any_op):
      %number = transform.match.structured.rank %tile : (!transform.any_op) -> !transform.param<i64>
      %height = transform.match.structured.dim %tile[0] {parallel} : (!transform.any_op) -> !transform.param<i64>
      %width = transform.match.structured.dim %tile[1] {parallel} : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number, %height, %width
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    %in_loops = transform.structured.match attributes {in_loops} in %op : (!transform.any_op) -> !transform.any_op
    %marks = transform.num_associations %in_loops : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %marks, %none : !transform.param<i64>
    // A convolution's images and rows are no tile.
    %most_loops = transform.param.constant 3 : i64 -> !transform.param<i64>
    transform.match.param.cmpi le %rank, %most_loops : !transform.param<i64>
    // A dynamic size is a negative number.
    %least = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most = transform.param.constant 8 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %least : !transform.param<i64>
    transform.match.param.cmpi le %rows, %most : !transform.param<i64>
    transform.yield %columns : !transform.param<i64>
  }

  // A fill of known size, of at most 16 rows and 64 columns: of all others a vector would be too long.
  transform.named_sequence private @fills_a_tile(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %rank, %rows, %columns = transform.match.structured %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, !transform.param<i64>) {
    ^bb0(%fill: !transform.any_op):
      %number = transform.match.structured.rank %fill : (!transform.any_op) -> !transform.param<i64>
      %height = transform.match.structured.dim %fill[0] : (!transform.any_op) -> !transform.param<i64>
      %width = transform.match.structured.dim %fill[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %number, %height, %width
        : !transform.param<i64>, !transform.param<i64>, !transform.param<i64>
    }
    // Images of a convolution are no tile.
    %two = transform.param.constant 2 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %rank, %two : !transform.param<i64>
    // A dynamic size is a negative number.
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    %most_rows = transform.param.constant 16 : i64 -> !transform.param<i64>
    %most_columns = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %rows, %one : !transform.param<i64>
    transform.match.param.cmpi le %rows, %most_rows : !transform.param<i64>
    transform.match.param.cmpi ge %columns, %one : !transform.param<i64>
    transform.match.param.cmpi le %columns, %most_columns : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }

  // Reads and writes of a tile leave the reduction loop: its vectors become loop-carried values.
  transform.named_sequence @keep_tile_in_registers(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // No canonicalization before reduction_to_contract: on a reduction of length 1 it would lose the contraction.
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %loops = transform.structured.match interface{LoopLikeInterface} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.hoist_loop_invariant_subsets %each : !transform.any_op
    }
    transform.yield
  }

  // Unroll the reduction by 4, except at ends, and turn each contraction into outer products, one FMA a row and vector.
  transform.named_sequence @lower_contractions(%root: !transform.any_op {transform.readonly}) {
    %reductions = transform.structured.match ops{["scf.for"]} attributes {reduction} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.foreach %reductions : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.loop.unroll %each {factor = 4} : !transform.any_op
    }
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reorder_multi_reduction_dims lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_flattening lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.multi_reduction_unrolling lowering_strategy = "innerreduction"
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_masked_transfers
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }

  // Fail unless there are as many contractions of vectors as were expected: with fewer, a reduction lost its
  // contraction, and the result would be right and slow.
  transform.named_sequence @require_contractions(%root: !transform.any_op {transform.readonly},
      %expected: !transform.param<i64> {transform.readonly}) {
    %contractions = transform.structured.match ops{["vector.contract"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %found = transform.num_associations %contractions : (!transform.any_op) -> !transform.param<i64>
    transform.include @explain_lost_contractions failures(suppress) (%root, %found, %expected)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> ()
    transform.match.param.cmpi eq %found, %expected : !transform.param<i64>
    transform.yield
  }
  // Where the numbers are equal there is no op to explain it at.
  transform.named_sequence private @explain_lost_contractions(%root: !transform.any_op {transform.readonly},
      %found: !transform.param<i64> {transform.readonly}, %expected: !transform.param<i64> {transform.readonly}) {
    %lost = transform.include @root_if_different failures(propagate) (%root, %found, %expected)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.debug.emit_remark_at %lost, "a reduction is no vector.contract, and would run slowly: vectorize it with create_named_contraction, and do not canonicalize before reduction_to_contract" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @root_if_different(%root: !transform.any_op {transform.readonly},
      %found: !transform.param<i64> {transform.readonly}, %expected: !transform.param<i64> {transform.readonly})
      -> !transform.any_op {
    transform.match.param.cmpi ne %found, %expected : !transform.param<i64>
    transform.yield %root : !transform.any_op
  }

  // Fail if something would run element by element: an op that is no vector yet, or a call of expf and its kin.
  transform.named_sequence @refuse_scalar_code(%root: !transform.any_op {transform.readonly}) {
    %structured = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    %pads = transform.structured.match ops{["tensor.pad"]} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.merge_handles %structured, %pads : !transform.any_op
    %calls = transform.structured.match ops{["math.atan", "math.atan2", "math.cbrt", "math.cos", "math.erf", "math.erfc",
      "math.exp", "math.exp2", "math.expm1", "math.log", "math.log10", "math.log1p", "math.log2", "math.powf", "math.sin",
      "math.sinh", "math.cosh", "math.tan", "math.tanh"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %loops, "this is no vector code and would become a scalar loop: tile it and vectorize it, or take it out of the payload" : !transform.any_op
    transform.debug.emit_remark_at %calls, "this would be a call for each element: no vector code is known for it in this element type" : !transform.any_op
    %left = transform.merge_handles %loops, %calls : !transform.any_op
    %count = transform.num_associations %left : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %count, %none : !transform.param<i64>
    transform.yield
  }

  // Fail if an op has more rows or columns than a vector may have, or a dynamic number of them: such a vector takes
  // minutes to compile, and no registers hold it. To be asked before ops are vectorized.
  transform.named_sequence @refuse_large_vectors(%root: !transform.any_op {transform.readonly},
      %rows: !transform.param<i64> {transform.readonly}, %columns: !transform.param<i64> {transform.readonly}) {
    %large = transform.include @find_large failures(propagate) (%root, %rows, %columns)
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.debug.emit_remark_at %large, "this would be a vector above the cap, or one of unknown size: tile it, peel the ends, and fold what is left before it is vectorized" : !transform.any_op
    %count = transform.num_associations %large : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %count, %none : !transform.param<i64>
    transform.yield
  }

  // The ops of more than so many rows or columns, or of a dynamic size.
  transform.named_sequence @find_large(%root: !transform.any_op {transform.readonly},
      %rows: !transform.param<i64> {transform.readonly}, %columns: !transform.param<i64> {transform.readonly})
      -> !transform.any_op {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %function, %rows, %columns @fits_in_vectors -> @mark_small, @is_structured -> @mark_large
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    %large = transform.foreach %all : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %in_one = transform.structured.match attributes {size = "large"} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %in_one : !transform.any_op
    }
    transform.yield %large : !transform.any_op
  }
  transform.named_sequence private @fits_in_vectors(%op: !transform.any_op {transform.readonly},
      %rows: !transform.param<i64> {transform.readonly}, %columns: !transform.param<i64> {transform.readonly})
      -> !transform.any_op {
    %height, %width = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%structured: !transform.any_op):
      %size_0 = transform.match.structured.dim %structured[0] : (!transform.any_op) -> !transform.param<i64>
      %size_1 = transform.match.structured.dim %structured[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %size_0, %size_1 : !transform.param<i64>, !transform.param<i64>
    }
    // A dynamic size is a negative number.
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi ge %height, %one : !transform.param<i64>
    transform.match.param.cmpi le %height, %rows : !transform.param<i64>
    transform.match.param.cmpi ge %width, %one : !transform.param<i64>
    transform.match.param.cmpi le %width, %columns : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_structured(%op: !transform.any_op {transform.readonly},
      %rows: !transform.param<i64> {transform.readonly}, %columns: !transform.param<i64> {transform.readonly})
      -> !transform.any_op {
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%structured: !transform.any_op):
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @mark_small(%op: !transform.any_op {transform.readonly}) {
    %size = transform.param.constant "small" -> !transform.any_param
    transform.annotate %op "size" = %size : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence private @mark_large(%op: !transform.any_op {transform.readonly}) {
    %size = transform.param.constant "large" -> !transform.any_param
    transform.annotate %op "size" = %size : !transform.any_op, !transform.any_param
    transform.yield
  }
}
