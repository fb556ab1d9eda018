// A convolution; the image comes with its border.
func.func @depthwise_conv2d_nhwc(%image: tensor<1x58x58x32xf32>, %filter: tensor<3x3x32xf32>) -> tensor<1x56x56x32xf32> {
  %zero = arith.constant 0.0 : f32
  %init_empty = tensor.empty() : tensor<1x56x56x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%init_empty : tensor<1x56x56x32xf32>) -> tensor<1x56x56x32xf32>
  %result = linalg.depthwise_conv_2d_nhwc_hwc
    {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %filter : tensor<1x58x58x32xf32>, tensor<3x3x32xf32>) outs(%init : tensor<1x56x56x32xf32>) -> tensor<1x56x56x32xf32>
  return %result : tensor<1x56x56x32xf32>
}
