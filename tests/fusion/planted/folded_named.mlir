// producer: linalg.transpose
// consumer: linalg.pack
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// why: the pattern folds the transpose into the pack, although the caller wants the transpose too
func.func @f(%x: tensor<32x48xf32>) -> (tensor<6x4x8x8xf32>, tensor<48x32xf32>) {
  %e = tensor.empty() : tensor<48x32xf32>
  %0 = linalg.transpose ins(%x : tensor<32x48xf32>) outs(%e : tensor<48x32xf32>) permutation = [1, 0]
  %d = tensor.empty() : tensor<6x4x8x8xf32>
  %1 = linalg.pack %0 inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %d : tensor<48x32xf32> -> tensor<6x4x8x8xf32>
  return %1, %0 : tensor<6x4x8x8xf32>, tensor<48x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %transpose = transform.structured.match ops{["linalg.transpose"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    %pack = transform.structured.match ops{["linalg.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %pack tile_sizes [2, 2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %transpose into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
