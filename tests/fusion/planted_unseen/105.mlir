// producer: 14
// consumer: 22
// cause: map
// repair: no
// Inverse short-time transform: frames are added where they overlap, then each sample is divided by its window's weight.
#frames = affine_map<(b, t, w) -> (b, t, w)>
#window = affine_map<(b, t, w) -> (w)>
#samples = affine_map<(b, t, w) -> (b, t * 8 + w)>
module {
  func.func @overlap_add(%frames: tensor<4x31x16xf32>, %window: tensor<16xf32>, %weight: tensor<256xf32>) -> tensor<4x256xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x256xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x256xf32>) -> tensor<4x256xf32>
    %signal = linalg.generic {indexing_maps = [#frames, #window, #samples], iterator_types = ["parallel", "reduction", "reduction"]}
        ins(%frames, %window : tensor<4x31x16xf32>, tensor<16xf32>) outs(%init : tensor<4x256xf32>) {
    ^bb0(%f: f32, %g: f32, %acc: f32):
      %m = arith.mulf %f, %g : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
    } -> tensor<4x256xf32>
    %e1 = tensor.empty() : tensor<4x256xf32>
    %even = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (s)>, affine_map<(b, s) -> (b, s)>], iterator_types = ["parallel", "parallel"]}
        ins(%signal, %weight : tensor<4x256xf32>, tensor<256xf32>) outs(%e1 : tensor<4x256xf32>) {
    ^bb0(%v: f32, %w: f32, %out: f32):
      %d = arith.divf %v, %w : f32
      linalg.yield %d : f32
    } -> tensor<4x256xf32>
    return %even : tensor<4x256xf32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %both = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %signal, %even = transform.split_handle %both : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // 64 samples of a channel at a time, with the frames that they come from.
    %tile, %loops:2 = transform.structured.fuse %even tile_sizes [1, 64] interchange [1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
