// A convolution with a window of one pixel: every pixel is multiplied by the same matrix.
func.func @conv_1x1_to_matmul(%image: tensor<2x5x7x3xf32>, %filter: tensor<1x1x3x4xf32>) -> tensor<2x5x7x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x5x7x4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x5x7x4xf32>) -> tensor<2x5x7x4xf32>
  %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<2x5x7x3xf32>, tensor<1x1x3x4xf32>)
      outs(%init : tensor<2x5x7x4xf32>) -> tensor<2x5x7x4xf32>
  return %result : tensor<2x5x7x4xf32>
}
