// producer: 11
// consumer: 14
// cause: empty-handle
// step: transform.structured.match
// repair: yes
// Queries times transposed keys, masked by addition, and the exponentials.
func.func @attention_scores(%queries: tensor<2x32x16xf32>, %keys: tensor<2x32x16xf32>, %mask: tensor<2x32x32xf32>) -> tensor<2x32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x32x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %scores = linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%queries, %keys : tensor<2x32x16xf32>, tensor<2x32x16xf32>) outs(%init : tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %masked = linalg.add ins(%scores, %mask : tensor<2x32x32xf32>, tensor<2x32x32xf32>) outs(%empty : tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %powers = linalg.exp ins(%masked : tensor<2x32x32xf32>) outs(%empty : tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  return %powers : tensor<2x32x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %scores = transform.structured.match ops{["linalg.batch_matmul_transpose_b"]} in %function : (!transform.any_op) -> !transform.any_op
    %masked = transform.structured.match ops{["linalg.add"]} in %function : (!transform.any_op) -> !transform.any_op
    %powers = transform.structured.match ops{["linalg.exp"]} in %function : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %powers tile_sizes [1, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %masked_tile, %loop_1 = transform.structured.fuse_into_containing_op %masked into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %scores_tile, %loop_2 = transform.structured.fuse_into_containing_op %scores into %loop_1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
