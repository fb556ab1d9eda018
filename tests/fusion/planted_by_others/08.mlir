// producer: linalg.pack
// consumer: linalg.negf
// cause: indivisible-sizes
// step: transform.structured.fuse
// repair: yes
func.func @pack_and_negate(%a: tensor<64x64xf32>) -> tensor<4x4x16x16xf32> {
  %e0 = tensor.empty() : tensor<4x4x16x16xf32>
  %packed = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %e0 : tensor<64x64xf32> -> tensor<4x4x16x16xf32>
  %e1 = tensor.empty() : tensor<4x4x16x16xf32>
  %negated = linalg.negf ins(%packed : tensor<4x4x16x16xf32>) outs(%e1 : tensor<4x4x16x16xf32>) -> tensor<4x4x16x16xf32>
  return %negated : tensor<4x4x16x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %neg = transform.structured.match ops{["linalg.negf"]} in %root : (!transform.any_op) -> !transform.any_op
    %neg_t, %l:3 = transform.structured.fuse %neg tile_sizes [1, 1, 12] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
