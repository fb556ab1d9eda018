// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: map
// repair: no
// A transposed convolution of stride 2 as a scatter: every input row adds to three output rows; then bias and ReLU.
func.func @upsample(%x: tensor<4x9x6xf32>, %w: tensor<3x6x10xf32>, %b: tensor<10xf32>) -> tensor<4x19x10xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x19x10xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x19x10xf32>) -> tensor<4x19x10xf32>
  %up = linalg.generic {
      indexing_maps = [affine_map<(n, h, k, f, c) -> (n, h, c)>,
                       affine_map<(n, h, k, f, c) -> (k, c, f)>,
                       affine_map<(n, h, k, f, c) -> (n, h * 2 + k, f)>],
      iterator_types = ["parallel", "reduction", "reduction", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x9x6xf32>, tensor<3x6x10xf32>) outs(%init : tensor<4x19x10xf32>) {
  ^bb0(%a: f32, %v: f32, %o: f32):
    %p = arith.mulf %a, %v : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x19x10xf32>
  %e1 = tensor.empty() : tensor<4x19x10xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(n, h, f) -> (n, h, f)>, affine_map<(n, h, f) -> (f)>, affine_map<(n, h, f) -> (n, h, f)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%up, %b : tensor<4x19x10xf32>, tensor<10xf32>) outs(%e1 : tensor<4x19x10xf32>) attrs = {activation} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<4x19x10xf32>
  return %y : tensor<4x19x10xf32>
}

// -----

// One image and five channels at a time; the upsampling within.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %act = transform.structured.match ops{["linalg.generic"]} attributes {activation} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %images, %channels = transform.structured.fuse %act tile_sizes [1, 0, 5]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
