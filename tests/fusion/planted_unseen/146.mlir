// producer: linalg.tanh
// consumer: linalg.mul
// cause: wrong-order
// step: transform.apply_registered_pass
// repair: yes
// A gate by named ops: (tanh(x + shift)) * gate, with a number of rows that is not known.
func.func @gate(%x: tensor<?x33xf32>, %shift: tensor<?x33xf32>, %gate: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x33xf32>
  %empty = tensor.empty(%rows) : tensor<?x33xf32>
  %shifted = linalg.add ins(%x, %shift : tensor<?x33xf32>, tensor<?x33xf32>) outs(%empty : tensor<?x33xf32>) -> tensor<?x33xf32>
  %tanh = linalg.tanh ins(%shifted : tensor<?x33xf32>) outs(%empty : tensor<?x33xf32>) -> tensor<?x33xf32>
  %gated = linalg.mul ins(%tanh, %gate : tensor<?x33xf32>, tensor<?x33xf32>) outs(%empty : tensor<?x33xf32>) -> tensor<?x33xf32>
  return %gated : tensor<?x33xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    %named = transform.structured.match interface{LinalgOp} in %fused : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
