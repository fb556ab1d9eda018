// producer: linalg.conv_2d_nhwc_hwcf
// consumer: linalg.generic
// cause: wrong-order
// step: transform.structured.tile_using_for
// repair: yes
// A convolution of 3x3 over an image with its border, a bias for each channel, and a ReLU.
func.func @conv_block(%image: tensor<2x15x17x5xf32>, %filter: tensor<3x3x5x12xf32>, %bias: tensor<12xf32>) -> tensor<2x13x15x12xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x13x15x12xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2x13x15x12xf32>) -> tensor<2x13x15x12xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<2x15x17x5xf32>, tensor<3x3x5x12xf32>) outs(%init : tensor<2x13x15x12xf32>) -> tensor<2x13x15x12xf32>
  %e1 = tensor.empty() : tensor<2x13x15x12xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%conv, %bias : tensor<2x13x15x12xf32>, tensor<12xf32>) outs(%e1 : tensor<2x13x15x12xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<2x13x15x12xf32>
  return %y : tensor<2x13x15x12xf32>
}

// -----

// Rows of the image: the convolution by five columns, its epilogue with it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %conv = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %act = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv_tile, %cl:3 = transform.structured.tile_using_for %conv tile_sizes [1, 1, 5]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loops:3 = transform.structured.fuse %act tile_sizes [1, 1, 5]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
