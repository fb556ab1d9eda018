// Payload: data/flow/img2col.mlir
// Pass:    ConvertConv2DToImg2Col of IREE's Flow pipeline.
// Idea:    the pixels under the window are written out as a row, once for every place of the window; then the
//          convolution is a product. It copies much and makes the fast product applicable.
// Helps:   where there is no schedule for the convolution, or its window is small and its channels are many.
// Before:  linalg.conv_2d_nhwc_hwcf, a window of 3x3 over tensor<1x16x16x4xf32>
// After:   a linalg.generic that copies windows to tensor<196x36xf32>, and a linalg.matmul of it
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %convolution = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %columns, %product = transform.structured.convert_conv2d_to_img2col %convolution
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %folded = transform.apply_registered_pass "linalg-fold-unit-extent-dims" to %function
      : (!transform.any_op) -> !transform.any_op
    %named = transform.apply_registered_pass "linalg-specialize-generic-ops" to %folded
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
