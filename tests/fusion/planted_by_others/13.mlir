// producer: linalg.depthwise_conv_2d_nhwc_hwc
// consumer: linalg.add
// cause: dead-handle
// step: transform.structured.generalize
// repair: yes
func.func @depthwise(%img: tensor<1x10x10x24xf32>, %flt: tensor<3x3x24xf32>, %b: tensor<1x8x8x24xf32>) -> tensor<1x8x8x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x8x8x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x8x8x24xf32>) -> tensor<1x8x8x24xf32>
  %conv = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%img, %flt : tensor<1x10x10x24xf32>, tensor<3x3x24xf32>) outs(%init : tensor<1x8x8x24xf32>) -> tensor<1x8x8x24xf32>
  %e1 = tensor.empty() : tensor<1x8x8x24xf32>
  %out = linalg.add ins(%conv, %b : tensor<1x8x8x24xf32>, tensor<1x8x8x24xf32>) outs(%e1 : tensor<1x8x8x24xf32>) -> tensor<1x8x8x24xf32>
  return %out : tensor<1x8x8x24xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.get_producer_of_operand %add[0] : (!transform.any_op) -> !transform.any_op
    %all = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
    %add_t, %loop = transform.structured.tile_using_forall %add tile_sizes [0, 4, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %same = transform.structured.match ops{["linalg.depthwise_conv_2d_nhwc_hwc"]} in %root : (!transform.any_op) -> !transform.any_op
    %plain = transform.structured.generalize %same : (!transform.any_op) -> !transform.any_op
    %conv_t, %loop1 = transform.structured.fuse_into_containing_op %conv into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
