// producer: 10
// consumer: 17
// cause: wrong-order
// step: transform.apply_patterns
// repair: yes
// What attention does with its keys: scale, transpose, and pack for the product.
func.func @keys(%keys: tensor<64x128xf32>) -> tensor<16x8x8x8xf32> {
  %scale = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<128x64xf32>
  %turned = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%keys : tensor<64x128xf32>) outs(%e : tensor<128x64xf32>) {
  ^bb0(%k: f32, %o: f32):
    %v = arith.mulf %k, %scale : f32
    linalg.yield %v : f32
  } -> tensor<128x64xf32>
  %pe = tensor.empty() : tensor<16x8x8x8xf32>
  %packed = linalg.pack %turned inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %pe : tensor<128x64xf32> -> tensor<16x8x8x8xf32>
  return %packed : tensor<16x8x8x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.linalg.data_layout_propagation
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    // The pack is to read what was just computed.
    %pack = transform.structured.match ops{["linalg.pack"]} in %function : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %pack tile_sizes [4, 4] interchange [1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
