// producer: 10
// consumer: 19
// cause: several-uses
// repair: yes
// A gated unit: silu(x) times the gate; the caller of the backward pass wants the sigmoid too.
#id = affine_map<(b, s, d) -> (b, s, d)>
func.func @gated(%x: tensor<?x?x64xbf16>, %gate: tensor<?x?x64xbf16>, %b: index, %s: index) -> (tensor<?x?x64xbf16>, tensor<?x?x64xbf16>) {
  %one = arith.constant 1.0 : bf16
  %buffer = tensor.empty(%b, %s) : tensor<?x?x64xbf16>
  %sigmoid = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x?x64xbf16>) outs(%buffer : tensor<?x?x64xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %n = arith.negf %in : bf16
    %e = math.exp %n : bf16
    %d = arith.addf %e, %one : bf16
    %q = arith.divf %one, %d : bf16
    linalg.yield %q : bf16
  } -> tensor<?x?x64xbf16>
  %result = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sigmoid, %gate : tensor<?x?x64xbf16>, tensor<?x?x64xbf16>, tensor<?x?x64xbf16>) outs(%buffer : tensor<?x?x64xbf16>) {
  ^bb0(%in: bf16, %sig: bf16, %g: bf16, %out: bf16):
    %silu = arith.mulf %in, %sig : bf16
    %gated = arith.mulf %silu, %g : bf16
    linalg.yield %gated : bf16
  } -> tensor<?x?x64xbf16>
  return %result, %sigmoid : tensor<?x?x64xbf16>, tensor<?x?x64xbf16>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %ops = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %ops tile_sizes [1, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
