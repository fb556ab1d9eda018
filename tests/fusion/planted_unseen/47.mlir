// producer: 12
// consumer: 15
// cause: side-effects
// step: transform.bufferization.one_shot_bufferize
// repair: yes
// Max pooling, and a residual added to it.
func.func @pool_add(%image: tensor<1x16x16x8xf32>, %residual: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %empty = tensor.empty() : tensor<1x8x8x8xf32>
  %init = linalg.fill ins(%lowest : f32) outs(%empty : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %pooled = linalg.pooling_nhwc_max
    {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%image, %window : tensor<1x16x16x8xf32>, tensor<2x2xf32>) outs(%init : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %sum = linalg.add ins(%pooled, %residual : tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) outs(%empty : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %sum : tensor<1x8x8x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %bufferized = transform.bufferization.one_shot_bufferize %root {bufferize_function_boundaries = true} : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.add"]} in %bufferized : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %sum tile_sizes [0, 2, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %bufferized : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
