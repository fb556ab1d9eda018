// A depthwise convolution with one filter for each channel, spelled with the dimension of a multiplier.
func.func @simplify_depthwise(%image: tensor<1x8x8x3xf32>, %filter: tensor<3x3x3x1xf32>) -> tensor<1x6x6x3x1xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x6x6x3x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x6x6x3x1xf32>) -> tensor<1x6x6x3x1xf32>
  %result = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x8x8x3xf32>, tensor<3x3x3x1xf32>)
      outs(%init : tensor<1x6x6x3x1xf32>) -> tensor<1x6x6x3x1xf32>
  return %result : tensor<1x6x6x3x1xf32>
}
