// producer: 11
// consumer: 15
// cause: several-uses
// step: transform.structured.tile_using_for
// repair: yes
// A convolution and its ReLU; training also wants what is before the ReLU.
func.func @conv_relu(%image: tensor<1x18x18x4xf32>, %filter: tensor<3x3x4x8xf32>) -> (tensor<1x16x16x8xf32>, tensor<1x16x16x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x16x16x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %conv = linalg.conv_2d_nhwc_hwcf
    {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %filter : tensor<1x18x18x4xf32>, tensor<3x3x4x8xf32>) outs(%init : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %zeros = arith.constant dense<0.0> : tensor<1x16x16x8xf32>
  %relu = linalg.max ins(%conv, %zeros : tensor<1x16x16x8xf32>, tensor<1x16x16x8xf32>) outs(%empty : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  return %relu, %conv : tensor<1x16x16x8xf32>, tensor<1x16x16x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %conv[2] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %relu tile_sizes [0, 4, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %conv_tile, %loop_1 = transform.structured.fuse_into_containing_op %conv into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %loop_2 = transform.structured.fuse_into_containing_op %init into %loop_1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
