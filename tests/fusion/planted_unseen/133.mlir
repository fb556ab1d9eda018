// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: named-ops
// step: transform.apply_registered_pass
// repair: yes
// NCHW to NHWC between an activation and a scale per channel.
#id = affine_map<(n, a, b, c) -> (n, a, b, c)>
#last = affine_map<(n, a, b, c) -> (c)>
func.func @to_channels_last(%x: tensor<2x19x13x11xf32>, %scale: tensor<19xf32>) -> tensor<2x13x11x19xf32> {
  %one = arith.constant 1.0 : f32
  %e0 = tensor.empty() : tensor<2x19x13x11xf32>
  %swish = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x19x13x11xf32>) outs(%e0 : tensor<2x19x13x11xf32>) {
  ^bb0(%a: f32, %o: f32):
    %neg = arith.negf %a : f32
    %pow = math.exp %neg : f32
    %den = arith.addf %pow, %one : f32
    %r = arith.divf %a, %den : f32
    linalg.yield %r : f32
  } -> tensor<2x19x13x11xf32>
  %e1 = tensor.empty() : tensor<2x13x11x19xf32>
  %nhwc = linalg.transpose ins(%swish : tensor<2x19x13x11xf32>) outs(%e1 : tensor<2x13x11x19xf32>) permutation = [0, 2, 3, 1]
  %scaled = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%nhwc, %scale : tensor<2x13x11x19xf32>, tensor<19xf32>) outs(%e1 : tensor<2x13x11x19xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %r = arith.mulf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<2x13x11x19xf32>
  return %scaled : tensor<2x13x11x19xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
