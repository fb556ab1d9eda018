// Payload: data/matmul.mlir, or anything with one linalg.matmul that adds to a linalg.fill, in extents that 64 and
//          the tile divide.
// Idea:    the way from three scalar loops to all of the core's multiply-adds, an entry a stage: @tiled, @vectorized,
//          @in_registers, and the whole of it. @canonicalized_early is the whole with one step too many: right, and
//          slow. For notebook 06; matmul.mlir goes on from here, with packing and for any shape.
// Knobs:   tile_m, tile_n: rows and columns of a tile. Its accumulators have to fit the vector registers with room
//          for the operands: 4, 64 for AVX-512; 4, 16 for AVX2 and NEON; 4, 8 for SSE.
// lhkit: default tile_n = vector_bits / 32 * (4 if vector_registers == 32 else 2)

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    transform.include @tile_and_vectorize failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @find_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @hoist_accumulators failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @unroll_reduction failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @lower_to_fma failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // What is read again stays in a cache; still one scalar at a time.
  transform.named_sequence private @tiled(%root: !transform.any_op {transform.consumed}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [64, 64, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }

  // Each step of the reduction on vectors, which come from memory and go back to it.
  transform.named_sequence private @vectorized(%root: !transform.any_op {transform.consumed}) {
    transform.include @tile_and_vectorize failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @find_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @lower_to_fma failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // The tile of the result waits in registers until its reduction is done.
  transform.named_sequence private @in_registers(%root: !transform.any_op {transform.consumed}) {
    transform.include @tile_and_vectorize failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @find_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @hoist_accumulators failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @lower_to_fma failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // The trap: to clean up at once simplifies the reduction of length 1 away, and no contraction is found in it.
  transform.named_sequence private @canonicalized_early(%root: !transform.any_op {transform.consumed}) {
    transform.include @tile_and_vectorize failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.include @find_contractions failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @hoist_accumulators failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @lower_to_fma failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Tiles of the result, each zeroed where it is computed, and one step of the reduction at a time as vectors.
  transform.named_sequence private @tile_and_vectorize(%root: !transform.any_op {transform.readonly}) {
    %tile_m = transform.tune.knob<"tile_m"> = 4 : i64 from options = [1, 2, 4, 8] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 16, 32, 64] -> !transform.param<i64>
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    %tile, %tiles = transform.structured.tile_using_forall %matmul tile_sizes [%tile_m, %tile_n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %init_tile, %tiles_1 = transform.structured.fuse_into_containing_op %init into %tiles
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %step, %reduction = transform.structured.tile_using_for %tile tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %reduction "reduction" : !transform.any_op
    transform.structured.vectorize %step : !transform.any_op
    transform.structured.vectorize %init_tile : !transform.any_op
    transform.yield
  }

  // Products that are added up become vector.contract; reads and writes of slices go to where the slices are from.
  transform.named_sequence private @find_contractions(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }

  // Reading and writing the tile of the result leave the reduction; it hands vectors on instead.
  transform.named_sequence private @hoist_accumulators(%root: !transform.any_op {transform.readonly}) {
    %loops = transform.structured.match interface{LoopLikeInterface} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %loops : !transform.any_op
    transform.foreach %loops : !transform.any_op {
    ^bb0(%loop: !transform.any_op):
      transform.loop.hoist_loop_invariant_subsets %loop : !transform.any_op
    }
    transform.yield
  }

  // Four steps of the reduction an iteration: fewer jumps, and addresses that are constants.
  transform.named_sequence private @unroll_reduction(%root: !transform.any_op {transform.readonly}) {
    %reduction = transform.structured.match ops{["scf.for"]} attributes {reduction} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %reduction {factor = 4} : !transform.any_op
    transform.yield
  }

  // Contractions as outer products: one multiply-add for each row and vector of the tile.
  transform.named_sequence private @lower_to_fma(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
