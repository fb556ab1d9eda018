// producer: 11
// consumer: 17
// cause: wrong-order
// repair: yes
// A gated unit on images in half precision: y = silu(x * scale[c]) * gate, channels last.
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
#chan = affine_map<(n, h, w, c) -> (c)>
func.func @scale_silu_gate(%x: tensor<2x28x28x64xf16>, %scale: tensor<64xf16>, %gate: tensor<2x28x28x64xf16>) -> tensor<2x28x28x64xf16> {
  %one = arith.constant 1.0 : f16
  %e0 = tensor.empty() : tensor<2x28x28x64xf16>
  %scaled = linalg.generic {indexing_maps = [#id, #chan, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %scale : tensor<2x28x28x64xf16>, tensor<64xf16>) outs(%e0 : tensor<2x28x28x64xf16>) attrs = {tag = "scale"} {
  ^bb0(%a: f16, %s: f16, %out: f16):
    %v = arith.mulf %a, %s : f16
    linalg.yield %v : f16
  } -> tensor<2x28x28x64xf16>
  %gated = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%scaled, %gate : tensor<2x28x28x64xf16>, tensor<2x28x28x64xf16>) outs(%e0 : tensor<2x28x28x64xf16>) attrs = {tag = "silu_gate"} {
  ^bb0(%a: f16, %g: f16, %out: f16):
    %n = arith.negf %a : f16
    %e = math.exp %n : f16
    %d = arith.addf %e, %one : f16
    %q = arith.divf %a, %d : f16
    %v = arith.mulf %q, %g : f16
    linalg.yield %v : f16
  } -> tensor<2x28x28x64xf16>
  return %gated : tensor<2x28x28x64xf16>
}

// -----

// Rows of pixels in a loop, then let the elementwise fusion clean up what is inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %gate = transform.structured.match attributes {tag = "silu_gate"} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %gate tile_sizes [1, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %func_1 = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %func_2 = transform.apply_registered_pass "canonicalize" to %func_1 : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func_2 : !transform.any_op
    transform.yield
  }
}
