// producer: linalg.exp
// consumer: linalg.batch_matmul
// cause: several-uses
// step: transform.structured.fuse_into_containing_op
// repair: yes
// The second half of attention, unnormalized: weights exp(scores), their row sums, their product with the values.
func.func @weights_and_values(%scores: tensor<6x50x77xf32>, %values: tensor<6x77x40xf32>) -> (tensor<6x50xf32>, tensor<6x50x40xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6x50x77xf32>
  %weights = linalg.exp ins(%scores : tensor<6x50x77xf32>) outs(%e0 : tensor<6x50x77xf32>) -> tensor<6x50x77xf32>
  %e1 = tensor.empty() : tensor<6x50xf32>
  %sum_init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<6x50xf32>) -> tensor<6x50xf32>
  %sums = linalg.reduce { arith.addf } ins(%weights : tensor<6x50x77xf32>) outs(%sum_init : tensor<6x50xf32>) dimensions = [2]
  %e2 = tensor.empty() : tensor<6x50x40xf32>
  %mix_init = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x50x40xf32>) -> tensor<6x50x40xf32>
  %mix = linalg.batch_matmul ins(%weights, %values : tensor<6x50x77xf32>, tensor<6x77x40xf32>) outs(%mix_init : tensor<6x50x40xf32>) -> tensor<6x50x40xf32>
  return %sums, %mix : tensor<6x50xf32>, tensor<6x50x40xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %weights = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %mix = transform.get_consumers_of_result %weights[0] : (!transform.any_op) -> !transform.any_op
    %mix_tile, %loop = transform.structured.tile_using_forall %mix tile_sizes [1, 10]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %weights_tile, %loop_1 = transform.structured.fuse_into_containing_op %weights into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
