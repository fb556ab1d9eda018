// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: several-uses
// step: transform.apply_registered_pass
// repair: yes
// A gate and its value, as a training step wants them: what goes into the sigmoid is kept for the way back.
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @gate(%x: tensor<128x512xf32>, %slope: tensor<128x512xf32>) -> (tensor<128x512xf32>, tensor<128x512xf32>) {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<128x512xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %slope : tensor<128x512xf32>, tensor<128x512xf32>) outs(%empty : tensor<128x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<128x512xf32>
  %sigmoid = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scaled : tensor<128x512xf32>) outs(%empty : tensor<128x512xf32>) {
  ^bb0(%a: f32, %out: f32):
    %n = arith.negf %a : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %v = arith.divf %one, %d : f32
    linalg.yield %v : f32
  } -> tensor<128x512xf32>
  %gated = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sigmoid : tensor<128x512xf32>, tensor<128x512xf32>) outs(%empty : tensor<128x512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<128x512xf32>
  return %gated, %scaled : tensor<128x512xf32>, tensor<128x512xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %ops = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    %rows, %loops = transform.structured.tile_using_for %ops tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %vectors, %more = transform.structured.tile_using_for %rows tile_sizes [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
