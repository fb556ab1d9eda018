// Payload: anything with a linalg.matmul in extents that the tiles divide, such as data/fc_relu.mlir.
// Idea:    several steps that often go together, as named sequences to be included: give this file as a
//          library, or copy a sequence with those that it includes to where the schedule's own are.
// Knobs:   none; sizes are those of a copy to be changed.

module attributes {transform.with_named_sequence} {
  // Tile to 8x32 with one step of the reduction inside, and compute the tile with vector FMAs.
  transform.named_sequence @tile_and_vectorize(%matmul: !transform.any_op {transform.consumed}) {
    // The function outlives what is done in it; handles to the matmul do not.
    %function = transform.get_parent_op %matmul {op_name = "func.func", deduplicate}
      : (!transform.any_op) -> !transform.any_op
    %step, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [8, 32, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.structured.vectorize %step {create_named_contraction} : !transform.any_op
    transform.include @contractions_to_fma failures(propagate) (%function) : (!transform.any_op) -> ()
    transform.yield
  }

  // Tile for a cache, then the tile for registers; gives the small tile and the loops around it.
  transform.named_sequence @tile_twice(%matmul: !transform.any_op {transform.consumed})
      -> (!transform.any_op, !transform.any_op, !transform.any_op) {
    %block, %outer:3 = transform.structured.tile_using_for %matmul tile_sizes [64, 64, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %inner:2 = transform.structured.tile_using_for %block tile_sizes [8, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield %tile, %outer#0, %inner#0 : !transform.any_op, !transform.any_op, !transform.any_op
  }

  // Tile in parallel and zero each tile where it is computed; gives the tile, its zeroing and the loop.
  transform.named_sequence @tile_with_init(%matmul: !transform.any_op {transform.consumed})
      -> (!transform.any_op, !transform.any_op, !transform.any_op) {
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    %tile, %forall = transform.structured.tile_using_forall %matmul tile_sizes [32, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // Through the shared output of a forall the zeroing can follow; through scf.for it could not.
    %init_tile, %loop = transform.structured.fuse_into_containing_op %init into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %tile, %init_tile, %loop : !transform.any_op, !transform.any_op, !transform.any_op
  }

  // Turn contractions into outer products, one FMA a row and vector, and clean up behind them.
  transform.named_sequence @contractions_to_fma(%function: !transform.any_op {transform.readonly}) {
    // No canonicalization before: on a reduction of length 1 it would lose the contraction.
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.vector.lower_outerproduct
    } : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
