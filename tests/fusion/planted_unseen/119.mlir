// producer: linalg.matmul
// consumer: linalg.tanh
// cause: wrong-order
// step: transform.structured.split
// repair: yes
// A projection of 50 rows and the tanh of it.
func.func @projection(%x: tensor<50x40xf32>, %w: tensor<40x64xf32>) -> tensor<50x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<50x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<50x64xf32>) -> tensor<50x64xf32>
  %p = linalg.matmul ins(%x, %w : tensor<50x40xf32>, tensor<40x64xf32>) outs(%init : tensor<50x64xf32>) -> tensor<50x64xf32>
  %e1 = tensor.empty() : tensor<50x64xf32>
  %y = linalg.tanh ins(%p : tensor<50x64xf32>) outs(%e1 : tensor<50x64xf32>) -> tensor<50x64xf32>
  return %y : tensor<50x64xf32>
}

// -----

// Full tiles of 16 rows, the last two rows apart; the product within the loop over the full tiles.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tanh = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %parts = transform.structured.split %tanh after 48 {dimension = 0} : !transform.any_op
    %main, %rest = transform.split_handle %parts : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %rows = transform.structured.fuse %main tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
