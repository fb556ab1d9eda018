// producer: linalg.transpose
// consumer: linalg.batch_matmul
// cause: dead-handle
// step: transform.structured.tile_using_forall
// repair: yes
// why: the second tiling reads %bmm, which the first consumed: nothing is fused
func.func @f(%q: tensor<4x16x32xf32>, %k: tensor<4x16x32xf32>) -> tensor<4x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %t0 = tensor.empty() : tensor<4x32x16xf32>
  %kt = linalg.transpose ins(%k : tensor<4x16x32xf32>) outs(%t0 : tensor<4x32x16xf32>) permutation = [0, 2, 1]
  %e = tensor.empty() : tensor<4x16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %p = linalg.batch_matmul ins(%q, %kt : tensor<4x16x32xf32>, tensor<4x32x16xf32>) outs(%init : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %p : tensor<4x16x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %bmm = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %kt = transform.structured.match ops{["linalg.transpose"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %bmm tile_sizes [1, 8, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %again, %inner = transform.structured.tile_using_for %bmm tile_sizes [0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %kt into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
