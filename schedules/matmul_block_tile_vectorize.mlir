// Payload: data/matmul.mlir, or anything with one linalg.matmul that adds to a linalg.fill, in extents that
//          blocks and tiles divide.
// Idea:    as matmul_tile_fuse_vectorize.mlir, with blocks around the tiles: what a block reads is to stay in a
//          cache while its tiles are computed. Four knobs, 578 variants at 512: made to be swept.
// Knobs:   block_m, block_n: rows and columns of a block. tile_m, tile_n: of a tile, whose accumulators have to
//          fit the vector registers: 4, 64 for AVX-512; 4, 16 for AVX2 and NEON; 2, 16 for SSE.
// lhkit: require divides(tile_m, block_m) and divides(tile_n, block_n)
// lhkit: default tile_n = 64 if vector_bits == 512 else 16
// lhkit: default tile_m = 2 if vector_bits == 128 and vector_registers == 16 else 4

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %block_m = transform.tune.knob<"block_m"> = 64 : i64 from options = [8, 16, 32, 64, 128, 256, 512] -> !transform.param<i64>
    %block_n = transform.tune.knob<"block_n"> = 128 : i64 from options = [32, 64, 128, 256, 512] -> !transform.param<i64>
    %tile_m = transform.tune.knob<"tile_m"> = 4 : i64 from options = [1, 2, 4, 8, 16] -> !transform.param<i64>
    %tile_n = transform.tune.knob<"tile_n"> = 64 : i64 from options = [16, 32, 64, 128] -> !transform.param<i64>

    // Blocks, then tiles, and each is zeroed where it is computed.
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    // Through the shared output of a forall the zeroing can follow; through scf.for it could not.
    %block, %blocks = transform.structured.tile_using_forall %matmul tile_sizes [%block_m, %block_n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op)
    %init_block, %blocks_1 = transform.structured.fuse_into_containing_op %init into %blocks
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tiled, %tiles = transform.structured.tile_using_forall %block tile_sizes [%tile_m, %tile_n]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>)
      -> (!transform.any_op, !transform.any_op)
    %init_tile, %tiles_1 = transform.structured.fuse_into_containing_op %init_block into %tiles
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
