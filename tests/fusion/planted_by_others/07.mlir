// producer: linalg.batch_matmul
// consumer: linalg.tanh
// cause: indivisible-sizes
// step: transform.loop.peel
// repair: yes
func.func @batched(%a: tensor<2x50x32xf32>, %b: tensor<2x32x40xf32>) -> tensor<2x50x40xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x50x40xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2x50x40xf32>) -> tensor<2x50x40xf32>
  %product = linalg.batch_matmul ins(%a, %b : tensor<2x50x32xf32>, tensor<2x32x40xf32>) outs(%init : tensor<2x50x40xf32>) -> tensor<2x50x40xf32>
  %e1 = tensor.empty() : tensor<2x50x40xf32>
  %squashed = linalg.tanh ins(%product : tensor<2x50x40xf32>) outs(%e1 : tensor<2x50x40xf32>) -> tensor<2x50x40xf32>
  return %squashed : tensor<2x50x40xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %act = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %mm = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %act_t, %loop = transform.structured.tile_using_for %act tile_sizes [0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %loop_op = transform.cast %loop : !transform.any_op to !transform.op<"scf.for">
    %main, %rest = transform.loop.peel %loop_op : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)
    %mm_t, %main1 = transform.structured.fuse_into_containing_op %mm into %main : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
