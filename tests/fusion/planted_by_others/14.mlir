// producer: linalg.batch_matmul
// consumer: linalg.add
// cause: empty-handle
// step: transform.structured.match
// repair: yes
func.func @heads(%a: tensor<4x24x16xf32>, %b: tensor<4x16x24xf32>, %mask: tensor<4x24x24xf32>) -> tensor<4x24x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x24x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x24x24xf32>) -> tensor<4x24x24xf32>
  %s = linalg.batch_matmul ins(%a, %b : tensor<4x24x16xf32>, tensor<4x16x24xf32>) outs(%init : tensor<4x24x24xf32>) -> tensor<4x24x24xf32>
  %e1 = tensor.empty() : tensor<4x24x24xf32>
  %r = linalg.add ins(%s, %mask : tensor<4x24x24xf32>, tensor<4x24x24xf32>) outs(%e1 : tensor<4x24x24xf32>) -> tensor<4x24x24xf32>
  return %r : tensor<4x24x24xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %add_t, %loop = transform.structured.tile_using_forall %add tile_sizes [1, 8, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %mm_t, %loop1 = transform.structured.fuse_into_containing_op %mm into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
