// Payload: data/flow/conv_1x1_to_matmul.mlir
// Pass:    ConvertConv2D1x1ToMatmul of IREE's Flow pipeline.
// Idea:    a window of one pixel is no window: every pixel is a row, and the convolution a product.
//          Upstream has no such step; lhkit.convert_conv_1x1_to_matmul is one.
// Helps:   products have more and faster schedules than convolutions; nothing is copied.
// Before:  linalg.conv_2d_nhwc_hwcf, a window of 1x1 over tensor<2x5x7x3xf32>
// After:   linalg.matmul of tensor<70x3xf32> and tensor<3x4xf32>, between collapse_shape and expand_shape
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %convolution = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %product = "lhkit.convert_conv_1x1_to_matmul"(%convolution) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
