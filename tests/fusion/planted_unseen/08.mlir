// producer: linalg.add
// consumer: linalg.min
// cause: indivisible-sizes
// step: transform.structured.pack
// repair: yes
// A bias and a clamp, to be kept in tiles.
func.func @clamp(%x: tensor<128x128xf32>, %bias: tensor<128x128xf32>, %limit: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %empty = tensor.empty() : tensor<128x128xf32>
  %biased = linalg.add ins(%x, %bias : tensor<128x128xf32>, tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %clamped = linalg.min ins(%biased, %limit : tensor<128x128xf32>, tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %clamped : tensor<128x128xf32>
}

// -----

// Both ops in tiles; the unpack and pack between them cancel, and one op is left.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %add = transform.structured.match ops{["linalg.add"]} in %func : (!transform.any_op) -> !transform.any_op
    %min = transform.structured.match ops{["linalg.min"]} in %func : (!transform.any_op) -> !transform.any_op
    %packed_add = transform.structured.pack %add packed_sizes = [8, 16] : (!transform.any_op) -> !transform.any_op
    %packed_min = transform.structured.pack %min packed_sizes = [16, 8] : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %in_tiles = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    transform.annotate %in_tiles "in_tiles" : !transform.any_op
    transform.yield
  }
}
