// producer: %init
// consumer: linalg.conv_2d_nhwc_hwcf
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// why: the fill is fused before the convolution that reads it is in the loop
func.func @f(%x: tensor<1x18x18x4xf32>, %k: tensor<3x3x4x8xf32>, %b: tensor<8xf32>) -> tensor<1x16x16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x16x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %conv = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<1x18x18x4xf32>, tensor<3x3x4x8xf32>) outs(%init : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %b0 = tensor.empty() : tensor<1x16x16x8xf32>
  %bias = linalg.broadcast ins(%b : tensor<8xf32>) outs(%b0 : tensor<1x16x16x8xf32>) dimensions = [0, 1, 2]
  %s0 = tensor.empty() : tensor<1x16x16x8xf32>
  %sum = linalg.add ins(%conv, %bias : tensor<1x16x16x8xf32>, tensor<1x16x16x8xf32>) outs(%s0 : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %z0 = tensor.empty() : tensor<1x16x16x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%z0 : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  %r0 = tensor.empty() : tensor<1x16x16x8xf32>
  %relu = linalg.max ins(%sum, %zeros : tensor<1x16x16x8xf32>, tensor<1x16x16x8xf32>) outs(%r0 : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
  return %relu : tensor<1x16x16x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %conv = transform.get_producer_of_operand %sum[0] : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %conv[2] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %relu tile_sizes [0, 4, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %s, %l1 = transform.structured.fuse_into_containing_op %sum into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %i, %l2 = transform.structured.fuse_into_containing_op %init into %l1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %c, %l3 = transform.structured.fuse_into_containing_op %conv into %l2 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
