// producer: 11
// consumer: 12
// cause: wrong-order
// step: transform.structured.tile_using_for
// repair: yes
// A dense layer: max(lhs * rhs + bias, 0).
func.func @dense(%lhs: tensor<64x32xf32>, %rhs: tensor<32x48xf32>, %bias: tensor<48xf32>) -> tensor<64x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x48xf32>) -> tensor<64x48xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<64x32xf32>, tensor<32x48xf32>) outs(%init : tensor<64x48xf32>) -> tensor<64x48xf32>
  %relu = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<64x48xf32>, tensor<48xf32>) outs(%empty : tensor<64x48xf32>) {
  ^bb0(%p: f32, %b: f32, %out: f32):
    %s = arith.addf %p, %b : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<64x48xf32>
  return %relu : tensor<64x48xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    // The reduction in steps of 8, for the registers.
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %step, %k_loop = transform.structured.tile_using_for %product tile_sizes [0, 0, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %step "step" : !transform.any_op
    // Tiles of the result, with all that feeds them.
    %relu = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %relu tile_sizes [16, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
