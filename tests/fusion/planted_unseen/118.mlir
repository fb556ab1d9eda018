// producer: linalg.generic
// consumer: linalg.pack
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// The keys are transposed; a product reads them packed in tiles of 8x4, another op their negatives.
func.func @key_cache(%keys: tensor<64x48xf32>) -> (tensor<48x64xf32>, tensor<6x16x8x4xf32>) {
  %e0 = tensor.empty() : tensor<48x64xf32>
  %t = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%keys : tensor<64x48xf32>) outs(%e0 : tensor<48x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<48x64xf32>
  %e1 = tensor.empty() : tensor<6x16x8x4xf32>
  %packed = linalg.pack %t inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %e1 : tensor<48x64xf32> -> tensor<6x16x8x4xf32>
  %e2 = tensor.empty() : tensor<48x64xf32>
  %n = linalg.negf ins(%t : tensor<48x64xf32>) outs(%e2 : tensor<48x64xf32>) -> tensor<48x64xf32>
  return %n, %packed : tensor<48x64xf32>, tensor<6x16x8x4xf32>
}

// -----

// Clean up, then one strip of the packed keys at a time, the transpose within.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %pack = transform.structured.match ops{["linalg.pack"]} in %function : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.fuse %pack tile_sizes [2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
