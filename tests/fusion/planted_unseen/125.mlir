// producer: linalg.conv_2d_nchw_fchw
// consumer: linalg.pooling_nchw_max
// cause: empty-handle
// step: transform.structured.match
// repair: yes
// A convolution and the maximum of every 2x2 of its result, channels first.
func.func @conv_pool(%image: tensor<1x3x22x26xf32>, %filter: tensor<7x3x3x3xf32>) -> tensor<1x7x10x12xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<1x7x20x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x7x20x24xf32>) -> tensor<1x7x20x24xf32>
  %conv = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x3x22x26xf32>, tensor<7x3x3x3xf32>) outs(%init : tensor<1x7x20x24xf32>) -> tensor<1x7x20x24xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %e1 = tensor.empty() : tensor<1x7x10x12xf32>
  %lows = linalg.fill ins(%low : f32) outs(%e1 : tensor<1x7x10x12xf32>) -> tensor<1x7x10x12xf32>
  %pool = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%conv, %window : tensor<1x7x20x24xf32>, tensor<2x2xf32>) outs(%lows : tensor<1x7x10x12xf32>) -> tensor<1x7x10x12xf32>
  return %pool : tensor<1x7x10x12xf32>
}

// -----

// Two rows of the pooling at a time, and the four rows of the convolution that they need.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %pool = transform.structured.match ops{["linalg.pooling_nchw_max"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %pool tile_sizes [0, 0, 2]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %conv_tile, %both = transform.structured.fuse_into_containing_op %conv into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
