// producer: linalg.pack
// consumer: linalg.mmt4d
// cause: indivisible-sizes
// step: transform.structured.fuse
// repair: yes
// A product whose left side is packed on the way.
func.func @pack_mmt4d(%lhs: tensor<64x32xf32>, %rhs: tensor<8x8x8x4xf32>) -> tensor<8x8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %packed_empty = tensor.empty() : tensor<8x8x8x4xf32>
  %packed = linalg.pack %lhs inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %packed_empty : tensor<64x32xf32> -> tensor<8x8x8x4xf32>
  %empty = tensor.empty() : tensor<8x8x8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  %product = linalg.mmt4d ins(%packed, %rhs : tensor<8x8x8x4xf32>, tensor<8x8x8x4xf32>) outs(%init : tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
  return %product : tensor<8x8x8x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.mmt4d"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.fuse %product tile_sizes [1, 1, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.linalg.tiling_canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
