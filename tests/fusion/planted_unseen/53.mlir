// producer: 9
// consumer: 11
// cause: folded-transpose
// repair: yes
// Eight-bit weights come as KxN from the checkpoint; the kernel wants NxK in tiles of 16x32, padded.
func.func @pack_weights(%ckpt: tensor<1000x200xi8>) -> tensor<13x32x16x32xi8> {
  %pad = arith.constant 0 : i8
  %et = tensor.empty() : tensor<200x1000xi8>
  %t = linalg.transpose ins(%ckpt : tensor<1000x200xi8>) outs(%et : tensor<200x1000xi8>) permutation = [1, 0] {tag = "weights_t"}
  %ep = tensor.empty() : tensor<13x32x16x32xi8>
  %p = linalg.pack %t padding_value(%pad : i8) inner_dims_pos = [0, 1] inner_tiles = [16, 32] into %ep {tag = "weights_p"} : tensor<200x1000xi8> -> tensor<13x32x16x32xi8>
  return %p : tensor<13x32x16x32xi8>
}

// -----

// Tidy up first, then pack by rows of tiles with the transpose inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @tidy(%func: !transform.any_op {transform.readonly}) {
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.tensor.fold_tensor_empty
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @tidy failures(propagate) (%func) : (!transform.any_op) -> ()
    %pack = transform.structured.match ops{["linalg.pack"]} in %func : (!transform.any_op) -> !transform.any_op
    %src = transform.get_producer_of_operand %pack[0] : (!transform.any_op) -> !transform.any_op
    %tile, %rows = transform.structured.tile_using_forall %pack tile_sizes [1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %src_in, %rows_1 = transform.structured.fuse_into_containing_op %src into %rows
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
