// producer: 11
// consumer: 14
// cause: wrong-order
// step: transform.structured.split
// repair: yes
// A depthwise convolution and a bias.
func.func @depthwise_bias(%image: tensor<1x16x16x8xf32>, %filter: tensor<3x3x8xf32>, %bias: tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14x14x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32>
  %conv = linalg.depthwise_conv_2d_nhwc_hwc
    {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %filter : tensor<1x16x16x8xf32>, tensor<3x3x8xf32>) outs(%init : tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32>
  %sum = linalg.add ins(%conv, %bias : tensor<1x14x14x8xf32>, tensor<1x14x14x8xf32>) outs(%empty : tensor<1x14x14x8xf32>) -> tensor<1x14x14x8xf32>
  return %sum : tensor<1x14x14x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    // 14 rows are three tiles of 4 and a rest of 2: the rest by itself, so that no tile is cut.
    %conv = transform.structured.match ops{["linalg.depthwise_conv_2d_nhwc_hwc"]} in %root : (!transform.any_op) -> !transform.any_op
    %whole = transform.structured.split %conv after 12 {dimension = 1} : !transform.any_op
    %main, %rest = transform.split_handle %whole : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %sum tile_sizes [0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %main_tile, %loop_1 = transform.structured.fuse_into_containing_op %main into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
