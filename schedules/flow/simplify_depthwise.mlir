// Payload: data/flow/simplify_depthwise.mlir
// Pass:    LinalgNamedOpConversion of IREE's Flow pipeline.
// Idea:    a depthwise convolution whose channel multiplier is 1 loses the dimension of the multiplier.
// Helps:   one loop and one dimension less; schedules and kernels for the common form apply.
// Before:  linalg.depthwise_conv_2d_nhwc_hwcm ins(%image, %filter : …, tensor<3x3x3x1xf32>)
// After:   %f = tensor.collapse_shape %filter … into tensor<3x3x3xf32>
//          linalg.depthwise_conv_2d_nhwc_hwc ins(%image, %f : …)
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %simplified = transform.apply_registered_pass "simplify-depthwise-conv" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
