// producer: linalg.matmul
// consumer: linalg.add
// cause: wrong-order
// step: transform.structured.tile_using_forall
// repair: yes
// A product with rows that do not fill tiles, a residual, as in the output projection of a block.
func.func @output_projection(%x: tensor<75x64xf32>, %weights: tensor<64x90xf32>, %residual: tensor<75x90xf32>) -> tensor<75x90xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<75x90xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<75x90xf32>) -> tensor<75x90xf32>
  %product = linalg.matmul ins(%x, %weights : tensor<75x64xf32>, tensor<64x90xf32>) outs(%init : tensor<75x90xf32>) -> tensor<75x90xf32>
  %sum = linalg.add ins(%product, %residual : tensor<75x90xf32>, tensor<75x90xf32>) outs(%e : tensor<75x90xf32>) -> tensor<75x90xf32>
  return %sum : tensor<75x90xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %matmul_tile, %threads = transform.structured.tile_using_forall %matmul num_threads [3, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum_tile, %loops:2 = transform.structured.fuse %sum tile_sizes [25, 45]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.linalg.tiling_canonicalization
    } : !transform.any_op
    transform.yield
  }
}
