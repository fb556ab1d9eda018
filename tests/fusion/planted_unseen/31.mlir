// producer: linalg.sub
// consumer: 15
// cause: side-effects
// step: transform.bufferization.one_shot_bufferize
// repair: yes
// The squared distance of every point from a centre, by points.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @distances(%points: tensor<128x16xf32>, %centre: tensor<128x16xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<128x16xf32>
  %e1 = tensor.empty() : tensor<128xf32>
  %offset = linalg.sub ins(%points, %centre : tensor<128x16xf32>, tensor<128x16xf32>) outs(%e2 : tensor<128x16xf32>) -> tensor<128x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<128xf32>) -> tensor<128xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%offset : tensor<128x16xf32>) outs(%init : tensor<128xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %q = arith.mulf %a, %a : f32
    %s = arith.addf %q, %acc : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  return %sum : tensor<128xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %before = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.bufferization.eliminate_empty_tensors %before : !transform.any_op
    %module = transform.bufferization.one_shot_bufferize %root {bufferize_function_boundaries = true}
      : (!transform.any_op) -> !transform.any_op
    %offset = transform.structured.match ops{["linalg.sub"]} in %module : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %offset : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %module : (!transform.any_op) -> !transform.any_op
    // Differences and squares in one op.
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    %ops = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    // Eight points at a time.
    %tiles, %loops = transform.structured.tile_using_for %ops tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
