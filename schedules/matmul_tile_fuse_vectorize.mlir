// Payload: data/matmul.mlir, or anything with one linalg.matmul that adds to a linalg.fill, in extents
//          that the tile divides.
// Idea:    a tile of the result stays in vector registers while the reduction runs over it: tile, zero
//          the tile in place, turn each step of the reduction into one vector contraction, hoist loads
//          and stores of the tile out of the reduction, lower contractions to outer products (FMAs).
// Knobs:   tile_m, tile_n: rows and columns of a tile. A vector holds 16 f32 with AVX-512, 8 with AVX2, 4 with
//          NEON and SSE: tile_m rows of tile_n columns in such vectors, the accumulators, have to fit the
//          registers (32; with AVX2 and SSE 16) with room for the operands: 4, 64; 4, 16; 4, 16; 4, 8.
// lhkit: default tile_n = vector_bits / 32 * (4 if vector_registers == 32 else 2)

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tile_m = transform.tune.knob<"tile_m"> = 4 : i64 from options = [1, 2, 4, 8, 16] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [8, 16, 32, 64, 128] -> !transform.param<i64>

    // Tile, and zero each tile where it is computed.
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    %tiled, %forall = transform.structured.tile_using_forall %matmul tile_sizes [%tile_m, %tile_n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op)
    // Through the shared output of a forall the zeroing can follow; through scf.for it could not.
    %init_tile, %loop = transform.structured.fuse_into_containing_op %init into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)

    // One step of the reduction at a time.
    %step, %reduction = transform.structured.tile_using_for %tiled tile_sizes [0, 0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    transform.structured.vectorize %step {create_named_contraction} : !transform.any_op
    transform.structured.vectorize %init_tile : !transform.any_op
    transform.include @keep_tile_in_registers failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @contractions_to_fma failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // Reads and writes of a tile leave the reduction loop: its vectors become loop-carried values.
  transform.named_sequence private @keep_tile_in_registers(%root: !transform.any_op {transform.readonly}) {
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
  transform.named_sequence private @contractions_to_fma(%root: !transform.any_op {transform.readonly}) {
    %contractions = transform.structured.match ops{["vector.contract"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %reductions = transform.get_parent_op %contractions {op_name = "scf.for"}
      : (!transform.any_op) -> !transform.any_op
    transform.loop.unroll %reductions {factor = 4} : !transform.any_op
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
