// A convolution that adds to what an elementwise op computes: the two are tied by the buffer that they share.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
func.func @detach_elementwise(%image: tensor<1x4x4x3xf32>, %filter: tensor<2x2x3x4xf32>, %bias: tensor<1x3x3x4xf32>)
    -> tensor<1x3x3x4xf32> {
  %empty = tensor.empty() : tensor<1x3x3x4xf32>
  %twice = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%bias : tensor<1x3x3x4xf32>) outs(%empty : tensor<1x3x3x4xf32>) {
  ^bb0(%x: f32, %out: f32):
    %value = arith.addf %x, %x : f32
    linalg.yield %value : f32
  } -> tensor<1x3x3x4xf32>
  %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x4x4x3xf32>, tensor<2x2x3x4xf32>)
      outs(%twice : tensor<1x3x3x4xf32>) -> tensor<1x3x3x4xf32>
  return %result : tensor<1x3x3x4xf32>
}
