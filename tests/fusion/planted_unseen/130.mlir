// producer: linalg.tanh
// consumer: linalg.mul
// cause: wrong-order
// step: transform.apply_registered_pass
// repair: yes
// A tanh gate over two halves of a projection, then a residual; any shape.
func.func @gate(%gate: tensor<?x?xf32>, %up: tensor<?x?xf32>, %residual: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %gate, %c0 : tensor<?x?xf32>
  %n = tensor.dim %gate, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %squashed = linalg.tanh ins(%gate : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %gated = linalg.mul ins(%up, %squashed : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %sum = linalg.add ins(%gated, %residual : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %sum : tensor<?x?xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    %named = transform.structured.match ops{["linalg.tanh", "linalg.mul", "linalg.add"]} in %fused : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
