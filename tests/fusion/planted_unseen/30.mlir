// producer: 13
// consumer: 16
// cause: empty-handle
// step: transform.structured.match
// repair: yes
// A depthwise convolution of a mobile network, followed by relu6.
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
func.func @depthwise_relu6(%image: tensor<1x18x18x32xf32>, %filter: tensor<3x3x32x1xf32>) -> tensor<1x16x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %e5 = tensor.empty() : tensor<1x16x16x32x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e5 : tensor<1x16x16x32x1xf32>) -> tensor<1x16x16x32x1xf32>
  %wide = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %filter : tensor<1x18x18x32xf32>, tensor<3x3x32x1xf32>) outs(%init : tensor<1x16x16x32x1xf32>) -> tensor<1x16x16x32x1xf32>
  %e = tensor.empty() : tensor<1x16x16x32xf32>
  %relu6 = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c, 0)>, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%wide : tensor<1x16x16x32x1xf32>) outs(%e : tensor<1x16x16x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    %low = arith.maximumf %x, %zero : f32
    %high = arith.minimumf %low, %six : f32
    linalg.yield %high : f32
  } -> tensor<1x16x16x32xf32>
  return %relu6 : tensor<1x16x16x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence private @is_convolution(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.conv_2d_nhwc_hwcf", "linalg.depthwise_conv_2d_nhwc_hwc"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @is_generic(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @light(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "light" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @heavy(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "heavy" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %marked = transform.foreach_match in %root
      @is_convolution -> @heavy,
      @is_generic -> @light
      : (!transform.any_op) -> !transform.any_op
    %convolution = transform.structured.match attributes {heavy} in %marked : (!transform.any_op) -> !transform.any_op
    %relu6 = transform.structured.match attributes {light} in %marked : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %relu6 tile_sizes [0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The convolution four rows at a time, clipped while it is warm.
    %convolution_tile, %loop_1 = transform.structured.fuse_into_containing_op %convolution into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
