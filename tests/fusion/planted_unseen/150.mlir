// producer: linalg.transpose
// consumer: linalg.pack
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// Weights are transposed and packed for a product by tiles (mmt4d).
func.func @packed_weights(%w: tensor<64x96xf32>, %lhs: tensor<3x8x8x8xf32>) -> tensor<3x6x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %turned_empty = tensor.empty() : tensor<96x64xf32>
  %turned = linalg.transpose ins(%w : tensor<64x96xf32>) outs(%turned_empty : tensor<96x64xf32>) permutation = [1, 0]
  %packed_empty = tensor.empty() : tensor<6x8x16x8xf32>
  %packed = linalg.pack %turned inner_dims_pos = [0, 1] inner_tiles = [16, 8] into %packed_empty : tensor<96x64xf32> -> tensor<6x8x16x8xf32>
  %empty = tensor.empty() : tensor<3x6x8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x6x8x16xf32>) -> tensor<3x6x8x16xf32>
  %product = linalg.mmt4d ins(%lhs, %packed : tensor<3x8x8x8xf32>, tensor<6x8x16x8xf32>) outs(%init : tensor<3x6x8x16xf32>) -> tensor<3x6x8x16xf32>
  return %product : tensor<3x6x8x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %pack = transform.structured.match ops{["linalg.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    %transpose = transform.get_producer_of_operand %pack[0] : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    %packs = transform.structured.match ops{["linalg.pack"]} in %function : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %packs tile_sizes [2, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %transpose_tile, %loop_1 = transform.structured.fuse_into_containing_op %transpose into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
