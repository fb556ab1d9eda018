// producer: 12
// consumer: 13
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// What a packed product leaves: unpacked, transposed, scaled by another matrix.
func.func @unpack_transpose(%tiles: tensor<8x4x8x16xf32>, %factors: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %empty = tensor.empty() : tensor<64x64xf32>
  %doubled_empty = tensor.empty() : tensor<8x4x8x16xf32>
  %exp = linalg.exp ins(%tiles : tensor<8x4x8x16xf32>) outs(%doubled_empty : tensor<8x4x8x16xf32>) -> tensor<8x4x8x16xf32>
  %unpacked = linalg.unpack %exp inner_dims_pos = [0, 1] inner_tiles = [8, 16] into %empty : tensor<8x4x8x16xf32> -> tensor<64x64xf32>
  %transposed = linalg.transpose ins(%unpacked : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) permutation = [1, 0]
  %scaled = linalg.mul ins(%transposed, %factors : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %scaled : tensor<64x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    %scaled = transform.structured.match ops{["linalg.mul"]} in %function : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %scaled tile_sizes [16, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.annotate %loops#1 "tiles" : !transform.any_op
    %transposes = transform.structured.match ops{["linalg.transpose"]} in %function : (!transform.any_op) -> !transform.any_op
    transform.foreach %transposes : !transform.any_op {
    ^bb0(%transpose: !transform.any_op):
      %inner = transform.structured.match ops{["scf.for"]} attributes {tiles} in %function : (!transform.any_op) -> !transform.any_op
      %inside, %loop = transform.structured.fuse_into_containing_op %transpose into %inner : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
