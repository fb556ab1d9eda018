// producer: linalg.tanh
// consumer: linalg.add
// cause: wrong-order
// step: transform.apply_registered_pass
// repair: yes
// A gate: x * (1 + tanh(x * y)).
func.func @gate(%x: tensor<96x64xf32>, %y: tensor<96x64xf32>) -> tensor<96x64xf32> {
  %one = arith.constant dense<1.0> : tensor<96x64xf32>
  %empty = tensor.empty() : tensor<96x64xf32>
  %xy = linalg.mul ins(%x, %y : tensor<96x64xf32>, tensor<96x64xf32>) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %tanh = linalg.tanh ins(%xy : tensor<96x64xf32>) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %plus = linalg.add ins(%tanh, %one : tensor<96x64xf32>, tensor<96x64xf32>) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %gated = linalg.mul ins(%x, %plus : tensor<96x64xf32>, tensor<96x64xf32>) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %gated : tensor<96x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    %named = transform.structured.match interface{LinalgOp} in %fused : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %first, %middle, %third, %last = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loops:2 = transform.structured.tile_using_for %last tile_sizes [8, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
