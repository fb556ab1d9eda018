// producer: linalg.conv_2d_nhwc_hwcf
// consumer: linalg.max
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// A convolution with its bias and relu, NHWC.
func.func @conv_bias_relu(%image: tensor<1x34x34x8xf32>, %filter: tensor<3x3x8x16xf32>, %bias: tensor<16xf32>) -> tensor<1x32x32x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x32x32x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x34x34x8xf32>, tensor<3x3x8x16xf32>) outs(%init : tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xf32>
  %biased = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%conv, %bias : tensor<1x32x32x16xf32>, tensor<16xf32>) outs(%empty : tensor<1x32x32x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<1x32x32x16xf32>
  %relu = linalg.max ins(%biased, %init : tensor<1x32x32x16xf32>, tensor<1x32x32x16xf32>) outs(%empty : tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xf32>
  return %relu : tensor<1x32x32x16xf32>
}

// -----

// Tile the relu by rows of the image, and pull what it is computed from into its loop.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @pull_in(%op: !transform.any_op {transform.consumed}, %loop: !transform.any_op {transform.readonly}) {
    %inside, %grown = transform.structured.fuse_into_containing_op %op into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %relu = transform.structured.match ops{["linalg.max"]} in %func : (!transform.any_op) -> !transform.any_op
    %before = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf", "linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %relu tile_sizes [0, 4, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // What cannot be fused stays where it is.
    transform.foreach %before : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @pull_in failures(suppress) (%each, %loop) : (!transform.any_op, !transform.any_op) -> ()
    }
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
