// producer: 9
// consumer: 15
// cause: map
// repair: no
// Each row is scaled and its four phases are interleaved into one long signal, which a bias and a ReLU follow.
func.func @interleave(%x: tensor<64x4xf32>, %gain: tensor<64xf32>, %bias: tensor<256xf32>) -> tensor<256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256xf32>
  %signal = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0 * 4 + d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %gain : tensor<64x4xf32>, tensor<64xf32>) outs(%e : tensor<256xf32>) {
  ^bb0(%a: f32, %g: f32, %o: f32):
    %v = arith.mulf %a, %g : f32
    linalg.yield %v : f32
  } -> tensor<256xf32>
  %sum = linalg.add ins(%signal, %bias : tensor<256xf32>, tensor<256xf32>) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %relu = linalg.max ins(%sum, %zeros : tensor<256xf32>, tensor<256xf32>) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  return %relu : tensor<256xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %relu = transform.structured.match ops{["linalg.max"]} in %function : (!transform.any_op) -> !transform.any_op
    // Everything that feeds the ReLU, 64 values at a time.
    %tile, %loop = transform.structured.fuse %relu tile_sizes [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %named = transform.structured.match ops{["linalg.add", "linalg.max", "linalg.fill"]} in %function
      : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
