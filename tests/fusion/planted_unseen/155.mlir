// producer: linalg.matmul#1
// consumer: linalg.exp
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// Two projections with their activations, of the same input.
func.func @two_branches(%x: tensor<40x56xf32>, %wq: tensor<56x24xf32>, %wv: tensor<56x72xf32>) -> (tensor<40x24xf32>, tensor<40x72xf32>) {
  %zero = arith.constant 0.0 : f32
  %eq = tensor.empty() : tensor<40x24xf32>
  %iq = linalg.fill ins(%zero : f32) outs(%eq : tensor<40x24xf32>) -> tensor<40x24xf32>
  %q = linalg.matmul ins(%x, %wq : tensor<40x56xf32>, tensor<56x24xf32>) outs(%iq : tensor<40x24xf32>) -> tensor<40x24xf32>
  %tanh = linalg.tanh ins(%q : tensor<40x24xf32>) outs(%eq : tensor<40x24xf32>) -> tensor<40x24xf32>
  %ev = tensor.empty() : tensor<40x72xf32>
  %iv = linalg.fill ins(%zero : f32) outs(%ev : tensor<40x72xf32>) -> tensor<40x72xf32>
  %v = linalg.matmul ins(%x, %wv : tensor<40x56xf32>, tensor<56x72xf32>) outs(%iv : tensor<40x72xf32>) -> tensor<40x72xf32>
  %exp = linalg.exp ins(%v : tensor<40x72xf32>) outs(%ev : tensor<40x72xf32>) -> tensor<40x72xf32>
  return %tanh, %exp : tensor<40x24xf32>, tensor<40x72xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tanh = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %q = transform.get_producer_of_operand %tanh[0] : (!transform.any_op) -> !transform.any_op
    %v = transform.get_producer_of_operand %exp[0] : (!transform.any_op) -> !transform.any_op
    %tanh_tile, %q_loop = transform.structured.tile_using_forall %tanh tile_sizes [8, 12] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %exp_tile, %v_loop = transform.structured.tile_using_forall %exp tile_sizes [8, 24] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %q_tile, %q_loop_1 = transform.structured.fuse_into_containing_op %q into %q_loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %v_tile, %q_loop_2 = transform.structured.fuse_into_containing_op %v into %q_loop_1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
