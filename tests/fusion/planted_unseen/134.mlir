// producer: linalg.transpose
// consumer: linalg.matmul
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// Scores of attention: the keys are transposed for the product; the transposed keys are also kept for the next step.
func.func @scores(%queries: tensor<64x96xf32>, %keys: tensor<128x96xf32>) -> (tensor<64x128xf32>, tensor<96x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<96x128xf32>
  %keys_t = linalg.transpose ins(%keys : tensor<128x96xf32>) outs(%e0 : tensor<96x128xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<64x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %scores = linalg.matmul ins(%queries, %keys_t : tensor<64x96xf32>, tensor<96x128xf32>) outs(%init : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %scores, %keys_t : tensor<64x128xf32>, tensor<96x128xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %packed = transform.structured.pack %matmul packed_sizes = [8, 16, 32] : (!transform.any_op) -> !transform.op<"linalg.generic">
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %product = transform.structured.match ops{["linalg.generic"]} in %function : (!transform.any_op) -> !transform.any_op
    %pack = transform.get_producer_of_operand %product[1] : (!transform.any_op) -> !transform.any_op
    %transpose = transform.structured.match ops{["linalg.transpose"]} in %function : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %product tile_sizes [0, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %pack_tile, %loop_1 = transform.structured.fuse_into_containing_op %pack into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %transpose_tile, %loop_2 = transform.structured.fuse_into_containing_op %transpose into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
