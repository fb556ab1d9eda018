// producer: %swish
// consumer: %scaled
// cause: several-uses
// repair: yes
// Two-headed gate: a swish of the features feeds a scaled branch and, shifted, the caller's residual.
#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>
func.func @swish_gate(%features: tensor<?x256xf32>, %gain: tensor<256xf32>, %residual: tensor<?x256xf32>) -> (tensor<?x256xf32>, tensor<?x256xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %rows = tensor.dim %features, %c0 : tensor<?x256xf32>
  %dest = tensor.empty(%rows) : tensor<?x256xf32>
  %swish = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%features : tensor<?x256xf32>) outs(%dest : tensor<?x256xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = arith.negf %x : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %y = arith.divf %x, %d : f32
    linalg.yield %y : f32
  } -> tensor<?x256xf32>
  %shifted = linalg.add ins(%swish, %residual : tensor<?x256xf32>, tensor<?x256xf32>) outs(%dest : tensor<?x256xf32>) -> tensor<?x256xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%swish, %gain : tensor<?x256xf32>, tensor<256xf32>) outs(%dest : tensor<?x256xf32>) attrs = {branch = "scaled"} {
  ^bb0(%x: f32, %g: f32, %o: f32):
    %y = arith.mulf %x, %g : f32
    linalg.yield %y : f32
  } -> tensor<?x256xf32>
  return %scaled, %shifted : tensor<?x256xf32>, tensor<?x256xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  // All elementwise ops of a function become one where that is possible.
  transform.named_sequence @fuse_elementwise(%function: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %named = transform.structured.match ops{["linalg.add"]} in %function : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    transform.yield %fused : !transform.any_op
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %rows = transform.tune.knob<"rows"> = 8 : i64 from options = [1, 4, 8, 16] -> !transform.param<i64>
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.include @fuse_elementwise failures(propagate) (%function) : (!transform.any_op) -> !transform.any_op
    // The swish is in the scaled branch by now: tile that.
    %scaled = transform.structured.match attributes {branch = "scaled"} in %fused : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %scaled tile_sizes [%rows]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.annotate %loop "scaled_rows" : !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
