// producer: %sums
// consumer: %factors
// cause: reduction
// step: transform.apply_registered_pass
// repair: yes
// RMS norm: each row divided by the root of its mean square.
func.func @rms_norm(%source: tensor<32x256xf32>) -> tensor<32x256xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 256.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %empty = tensor.empty() : tensor<32x256xf32>
  %rows = tensor.empty() : tensor<32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<32xf32>) -> tensor<32xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%source : tensor<32x256xf32>) outs(%init : tensor<32xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %sq = arith.mulf %x, %x : f32
    %a = arith.addf %acc, %sq : f32
    linalg.yield %a : f32
  } -> tensor<32xf32>
  %factors = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%sums : tensor<32xf32>) outs(%rows : tensor<32xf32>) {
  ^bb0(%s: f32, %out: f32):
    %m = arith.divf %s, %count : f32
    %g = arith.addf %m, %epsilon : f32
    %r = math.rsqrt %g : f32
    linalg.yield %r : f32
  } -> tensor<32xf32>
  %normal = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%source, %factors : tensor<32x256xf32>, tensor<32xf32>) outs(%empty : tensor<32x256xf32>) {
  ^bb0(%x: f32, %f: f32, %out: f32):
    %y = arith.mulf %x, %f : f32
    linalg.yield %y : f32
  } -> tensor<32x256xf32>
  return %normal : tensor<32x256xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    %sums, %normal = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_forall %normal tile_sizes [4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
