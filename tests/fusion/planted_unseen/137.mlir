// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: map
// repair: no
// Pixel shuffle (depth to space, by 2) that writes each channel group to its place, then a clamp to [0, 1].
#from = affine_map<(n, h, w, a, b, c) -> (n, h, w, a, b, c)>
#to = affine_map<(n, h, w, a, b, c) -> (n, h * 2 + a, w * 2 + b, c)>
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
func.func @pixel_shuffle(%x: tensor<1x15x17x2x2x3xf32>) -> tensor<1x30x34x3xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<1x30x34x3xf32>
  %image = linalg.generic {indexing_maps = [#from, #to], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x15x17x2x2x3xf32>) outs(%e : tensor<1x30x34x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x30x34x3xf32>
  %clamped = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%image : tensor<1x30x34x3xf32>) outs(%e : tensor<1x30x34x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %lo = arith.maximumf %a, %zero : f32
    %hi = arith.minimumf %lo, %one : f32
    linalg.yield %hi : f32
  } -> tensor<1x30x34x3xf32>
  return %clamped : tensor<1x30x34x3xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %generics = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %shuffle, %clamp = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %clamp_tile, %loops:2 = transform.structured.fuse %clamp tile_sizes [0, 6, 17]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
