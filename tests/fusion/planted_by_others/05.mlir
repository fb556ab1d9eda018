// producer: linalg.transpose
// consumer: linalg.pack
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
func.func @turn_and_pack(%a: tensor<64x48xf32>) -> (tensor<6x8x8x8xf32>, tensor<48x64xf32>) {
  %e0 = tensor.empty() : tensor<48x64xf32>
  %turned = linalg.transpose ins(%a : tensor<64x48xf32>) outs(%e0 : tensor<48x64xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<6x8x8x8xf32>
  %packed = linalg.pack %turned inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %e1 : tensor<48x64xf32> -> tensor<6x8x8x8xf32>
  return %packed, %turned : tensor<6x8x8x8xf32>, tensor<48x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %turn = transform.structured.match ops{["linalg.transpose"]} in %root : (!transform.any_op) -> !transform.any_op
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %pack = transform.structured.match ops{["linalg.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    %pack_t, %loop = transform.structured.tile_using_forall %pack tile_sizes [1, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %turn_t, %loop1 = transform.structured.fuse_into_containing_op %turn into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
