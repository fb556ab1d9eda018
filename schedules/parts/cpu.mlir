// Payload: any; the sequences say what each takes.
// Idea:    the steps that fast schedules for CPUs share, to be included: a schedule names this file in a comment
//          (lhkit: library parts/cpu.mlir) and declares the sequences that it includes.
// Knobs:   none.
// What a payload does not have is not found, as where tiles come out even.
// lhkit: allow zero-match, no-effect, tile-size-too-large

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

  // Make each step of a matmul's reduction a contraction of vectors, and each fill of a tile a vector.
  transform.named_sequence @vectorize_tiles(%root: !transform.any_op {transform.readonly}) {
    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %steps, %reductions = transform.structured.tile_using_for %matmuls tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %reductions "reduction" : !transform.any_op
    %fills = transform.collect_matching @fills_a_tile in %root : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %steps {create_named_contraction} : !transform.any_op
    transform.structured.vectorize %fills : !transform.any_op
    transform.yield
  }

  // A fill of known size, of at most 16 rows and 64 columns: of all others a vector would be too long.
  transform.named_sequence private @fills_a_tile(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %rows, %columns = transform.match.structured %op
      : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>) {
    ^bb0(%fill: !transform.any_op):
      %height = transform.match.structured.dim %fill[0] : (!transform.any_op) -> !transform.param<i64>
      %width = transform.match.structured.dim %fill[1] : (!transform.any_op) -> !transform.param<i64>
      transform.match.structured.yield %height, %width : !transform.param<i64>, !transform.param<i64>
    }
    // A size that nobody knows is a negative number.
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

  // Unroll the reduction by 4 and turn each contraction into outer products, one FMA a row and vector.
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
}
