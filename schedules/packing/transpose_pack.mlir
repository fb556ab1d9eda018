// Payload: data/transpose_pack.mlir: a transpose that a product, an elementwise op and the caller use.
// Idea:    data tiling. The product is packed; the pack of its left side is tiled, and the transpose is to be
//          computed inside of the same loop, which then has two results. Folding the transpose into the pack
//          looks like a gain, takes the producer away from the fusion, and leaves the transpose behind.
// Entries: @without_fold      packs, tiles and fuses.
//          @always_fold       folds first: the fusion finds no producer, and the schedule fails.
//          @fold_and_keep     folds, and tiles the pack alone: what the fold costs if one goes on without fusion.
//          @__transform_main  folds where the pack is the one use of the transpose: not here, so all goes well.
// Knobs:   none.
// Source:  an issue thread of IREE, "transpose -> pack folding pattern inhibits fusion".

module attributes {transform.with_named_sequence} {
  transform.named_sequence @without_fold(%root: !transform.any_op {transform.consumed}) {
    %transpose, %pack = transform.include @pack_product failures(propagate) (%root)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.include @tile_pack_and_fuse failures(propagate) (%transpose, %pack)
      : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }

  transform.named_sequence @always_fold(%root: !transform.any_op {transform.consumed}) {
    %transpose, %pack = transform.include @pack_product failures(propagate) (%root)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.get_parent_op %pack {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    transform.include @tile_pack_and_fuse failures(propagate) (%transpose, %pack)
      : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %transpose, %pack = transform.include @pack_product failures(propagate) (%root)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.get_parent_op %pack {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %folded = "lhkit.fold_transpose_into_pack"(%function) {single_use} : (!transform.any_op) -> !transform.any_op
    transform.include @tile_pack_and_fuse failures(propagate) (%transpose, %pack)
      : (!transform.any_op, !transform.any_op) -> ()
    transform.yield
  }

  transform.named_sequence @fold_and_keep(%root: !transform.any_op {transform.consumed}) {
    %transpose, %pack = transform.include @pack_product failures(propagate) (%root)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.get_parent_op %pack {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %folded = "lhkit.fold_transpose_into_pack"(%function) : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %folded tile_sizes [8, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }

  // Tiles of 8x8 of the result, each step of the reduction by itself; the left side's pack and its producer.
  transform.named_sequence private @pack_product(%root: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_op) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.op<"linalg.matmul">
    %packed = transform.structured.pack %product packed_sizes = [8, 8, 1]
      : (!transform.op<"linalg.matmul">) -> !transform.op<"linalg.generic">
    %pack = transform.get_producer_of_operand %packed[0] : (!transform.op<"linalg.generic">) -> !transform.any_op
    %transpose = transform.get_producer_of_operand %pack[0] : (!transform.any_op) -> !transform.any_op
    transform.yield %transpose, %pack : !transform.any_op, !transform.any_op
  }

  // One loop over tiles that computes both: the packed copy, and the transpose that others use.
  transform.named_sequence private @tile_pack_and_fuse(%transpose: !transform.any_op {transform.consumed},
                                                       %pack: !transform.any_op {transform.consumed}) {
    %tile, %loop = transform.structured.tile_using_forall %pack tile_sizes [8, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %both = transform.structured.fuse_into_containing_op %transpose into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
