// producer: 8
// consumer: 14
// cause: map
// repair: no
// Upsampling of frames without overlap: sample 4 * t + p of the result is phase p of frame t; then the volume.
func.func @upsample(%frames: tensor<250x4xf32>, %volume: tensor<1000xf32>) -> tensor<1000xf32> {
  %room = tensor.empty() : tensor<1000xf32>
  %samples = linalg.generic {indexing_maps = [affine_map<(t, p) -> (t, p)>, affine_map<(t, p) -> (4 * t + p)>], iterator_types = ["parallel", "parallel"]}
      ins(%frames : tensor<250x4xf32>) outs(%room : tensor<1000xf32>) {
  ^bb0(%x: f32, %out: f32):
    %y = math.tanh %x : f32
    linalg.yield %y : f32
  } -> tensor<1000xf32>
  %windowed = linalg.generic {indexing_maps = [affine_map<(s) -> (s)>, affine_map<(s) -> (s)>, affine_map<(s) -> (s)>], iterator_types = ["parallel"]}
      ins(%volume, %samples : tensor<1000xf32>, tensor<1000xf32>) outs(%room : tensor<1000xf32>) {
  ^bb0(%v: f32, %x: f32, %out: f32):
    %y = arith.mulf %v, %x : f32
    linalg.yield %y : f32
  } -> tensor<1000xf32>
  return %windowed : tensor<1000xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %rest = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    %first, %last = transform.split_handle %rest {fail_on_payload_too_small = false, overflow_result = 0}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_for %last tile_sizes [100]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
