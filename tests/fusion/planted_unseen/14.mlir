// producer: linalg.conv_2d_nchw_fchw
// consumer: linalg.max
// cause: empty-handle
// step: transform.structured.match
// repair: yes
// A convolution, channels first, its relu, and the maximum of each 2 x 2 window.
func.func @conv_relu_pool(%image: tensor<1x8x34x34xf32>, %filter: tensor<16x8x3x3xf32>) -> tensor<1x16x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<1x16x32x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32>
  %conv = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x8x34x34xf32>, tensor<16x8x3x3xf32>) outs(%init : tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32>
  %relu = linalg.max ins(%conv, %init : tensor<1x16x32x32xf32>, tensor<1x16x32x32xf32>) outs(%empty : tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %pool_empty = tensor.empty() : tensor<1x16x16x16xf32>
  %pool_init = linalg.fill ins(%low : f32) outs(%pool_empty : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %pool = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%relu, %window : tensor<1x16x32x32xf32>, tensor<2x2xf32>) outs(%pool_init : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  return %pool : tensor<1x16x16x16xf32>
}

// -----

// Windows a row at a time, and what they are the maximum of in the same loop.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %pool = transform.structured.match ops{["linalg.pooling_nchw_max", "linalg.pooling_nhwc_max"]} in %func : (!transform.any_op) -> !transform.any_op
    %relu = transform.structured.match ops{["linalg.max"]} in %func : (!transform.any_op) -> !transform.any_op
    %conv = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %pool tile_sizes [0, 8, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %relu_tile, %loop_1 = transform.structured.fuse_into_containing_op %relu into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %conv_tile, %loop_2 = transform.structured.fuse_into_containing_op %conv into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %piece, %channels = transform.structured.tile_using_for %conv_tile tile_sizes [0, 0, 0, 0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
