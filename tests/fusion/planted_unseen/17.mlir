// producer: 11
// consumer: 14
// cause: wrong-order
// step: transform.structured.tile_using_forall
// repair: yes
// A convolution, a bias and a ReLU.
func.func @conv_bias_relu(%image: tensor<1x30x30x16xf32>, %filter: tensor<3x3x16x32xf32>, %bias: tensor<32xf32>) -> tensor<1x28x28x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x28x28x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
    ins(%image, %filter : tensor<1x30x30x16xf32>, tensor<3x3x16x32xf32>) outs(%init : tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
  %biases = linalg.broadcast ins(%bias : tensor<32xf32>) outs(%empty : tensor<1x28x28x32xf32>) dimensions = [0, 1, 2]
  %sum = linalg.add ins(%conv, %biases : tensor<1x28x28x32xf32>, tensor<1x28x28x32xf32>) outs(%empty : tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
  %relu = linalg.max ins(%sum, %zeros : tensor<1x28x28x32xf32>, tensor<1x28x28x32xf32>) outs(%empty : tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
  return %relu : tensor<1x28x28x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %function : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.add"]} in %function : (!transform.any_op) -> !transform.any_op
    %relu = transform.structured.match ops{["linalg.max"]} in %function : (!transform.any_op) -> !transform.any_op
    // Four rows of the image a thread, for the convolution and for what follows it.
    %conv_tile, %conv_loop = transform.structured.tile_using_forall %conv tile_sizes [0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %relu_tile, %relu_loop = transform.structured.tile_using_forall %relu tile_sizes [0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum_tile, %rest_loop = transform.structured.fuse_into_containing_op %sum into %relu_loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %function : !transform.any_op
    // Both loops go over the same rows: make them one.
    %loop = transform.loop.fuse_sibling %rest_loop into %conv_loop
      : (!transform.any_op, !transform.any_op) -> !transform.any_op
    transform.yield
  }
}
