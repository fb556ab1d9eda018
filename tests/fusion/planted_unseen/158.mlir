// producer: linalg.depthwise_conv_2d_nhwc_hwcm
// consumer: linalg.abs
// cause: empty-handle
// step: transform.structured.match
// repair: yes
// A depthwise convolution with two filters a channel, then an exponential.
func.func @depthwise(%image: tensor<2x13x11x4xf32>, %filter: tensor<3x3x4x2xf32>) -> tensor<2x11x9x4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x11x9x4x2xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x11x9x4x2xf32>) -> tensor<2x11x9x4x2xf32>
  %conv = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%image, %filter : tensor<2x13x11x4xf32>, tensor<3x3x4x2xf32>) outs(%zeros : tensor<2x11x9x4x2xf32>) -> tensor<2x11x9x4x2xf32>
  %abs = linalg.abs ins(%conv : tensor<2x11x9x4x2xf32>) outs(%empty : tensor<2x11x9x4x2xf32>) -> tensor<2x11x9x4x2xf32>
  return %abs : tensor<2x11x9x4x2xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %abs = transform.structured.match ops{["linalg.abs"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.structured.match ops{["linalg.depthwise_conv_2d_nhwc_hwc"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %abs tile_sizes [1, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %conv_tile, %loop_1 = transform.structured.fuse_into_containing_op %conv into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_dce to %function : !transform.any_op
    transform.yield
  }
}
