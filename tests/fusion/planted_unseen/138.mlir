// producer: linalg.max
// consumer: linalg.conv_2d_nhwc_hwcf
// cause: map
// step: transform.structured.convert_conv2d_to_img2col
// repair: yes
// ReLU before a 3x3 convolution (pre-activation).
func.func @pre_activation(%x: tensor<1x18x22x8xf32>, %filter: tensor<3x3x8x16xf32>) -> tensor<1x16x20x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x18x22x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x18x22x8xf32>) -> tensor<1x18x22x8xf32>
  %active = linalg.max ins(%x, %zeros : tensor<1x18x22x8xf32>, tensor<1x18x22x8xf32>) outs(%e0 : tensor<1x18x22x8xf32>) -> tensor<1x18x22x8xf32>
  %e1 = tensor.empty() : tensor<1x16x20x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x16x20x16xf32>) -> tensor<1x16x20x16xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%active, %filter : tensor<1x18x22x8xf32>, tensor<3x3x8x16xf32>) outs(%init : tensor<1x16x20x16xf32>) -> tensor<1x16x20x16xf32>
  return %conv : tensor<1x16x20x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %conv = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %columns, %product = transform.structured.convert_conv2d_to_img2col %conv : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %matmul = transform.get_producer_of_operand %product[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %matmul tile_sizes [0, 32, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
