// producer: linalg.conv_2d_nhwc_hwcf
// consumer: linalg.max
// cause: several-uses
// step: transform.structured.tile_using_for
// repair: yes
// A convolution whose result goes through a ReLU and also into a residual sum.
func.func @residual(%image: tensor<1x18x18x6xf32>, %filter: tensor<3x3x6x10xf32>, %skip: tensor<1x16x16x10xf32>) -> (tensor<1x16x16x10xf32>, tensor<1x16x16x10xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x16x16x10xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x16x10xf32>) -> tensor<1x16x16x10xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%image, %filter : tensor<1x18x18x6xf32>, tensor<3x3x6x10xf32>) outs(%zeros : tensor<1x16x16x10xf32>) -> tensor<1x16x16x10xf32>
  %relu = linalg.max ins(%conv, %zeros : tensor<1x16x16x10xf32>, tensor<1x16x16x10xf32>) outs(%empty : tensor<1x16x16x10xf32>) -> tensor<1x16x16x10xf32>
  %sum = linalg.add ins(%conv, %skip : tensor<1x16x16x10xf32>, tensor<1x16x16x10xf32>) outs(%empty : tensor<1x16x16x10xf32>) -> tensor<1x16x16x10xf32>
  return %relu, %sum : tensor<1x16x16x10xf32>, tensor<1x16x16x10xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %relu tile_sizes [0, 4, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %conv_tile, %loop_1 = transform.structured.fuse_into_containing_op %conv into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_dce to %function : !transform.any_op
    transform.yield
  }
}
