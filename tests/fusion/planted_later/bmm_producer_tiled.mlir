// producer: linalg.transpose
// consumer: linalg.batch_matmul
// cause: wrong-order
// step: transform.structured.tile_using_for
// repair: yes
// why: the transpose was tiled by itself first; its tile is in a loop of its own
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
    %kt_tile, %kt_loop = transform.structured.tile_using_for %kt tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_forall %bmm tile_sizes [1, 8, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %kt_tile into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
