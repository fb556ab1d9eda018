// A 3x3 convolution; written as a product of matrices it copies each pixel up to nine times.
func.func @img2col(%image: tensor<1x16x16x4xf32>, %filter: tensor<3x3x4x16xf32>) -> tensor<1x14x14x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14x14x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x16x16x4xf32>, tensor<3x3x4x16xf32>)
      outs(%init : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  return %result : tensor<1x14x14x16xf32>
}
