// producer: linalg.exp
// consumer: linalg.reduce
// cause: indivisible-sizes
// step: transform.structured.split_reduction
// repair: yes
// Log-sum-exp without the shift: row sums of exponentials over 1000 classes.
func.func @partition_function(%logits: tensor<48x1000xf32>) -> tensor<48xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<48x1000xf32>
  %powers = linalg.exp ins(%logits : tensor<48x1000xf32>) outs(%e0 : tensor<48x1000xf32>) -> tensor<48x1000xf32>
  %e1 = tensor.empty() : tensor<48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<48xf32>) -> tensor<48xf32>
  %sums = linalg.reduce { arith.addf } ins(%powers : tensor<48x1000xf32>) outs(%init : tensor<48xf32>) dimensions = [1]
  return %sums : tensor<48xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %powers = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %sums = transform.structured.match ops{["linalg.reduce"]} in %root : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %sums : (!transform.any_op) -> !transform.any_op
    %init, %fill, %partial, %combine = transform.structured.split_reduction %generic {split_factor = 16, insert_split_dimension = 1, use_scaling_algorithm}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %partial_tile, %loop = transform.structured.tile_using_for %partial tile_sizes [6]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %powers_tile, %loop_1 = transform.structured.fuse_into_containing_op %powers into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
