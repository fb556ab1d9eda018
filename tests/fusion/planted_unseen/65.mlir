// producer: 20
// consumer: 22
// cause: wrong-order
// repair: yes
// Two layers of a small vision net; the second function is the one under work.
func.func @stem(%image: tensor<1x34x34x8xf32>, %kernel: tensor<3x3x8x16xf32>) -> tensor<1x32x32x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x32x32x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %kernel : tensor<1x34x34x8xf32>, tensor<3x3x8x16xf32>) outs(%init : tensor<1x32x32x16xf32>) -> tensor<1x32x32x16xf32>
  return %conv : tensor<1x32x32x16xf32>
}

func.func @block(%image: tensor<2x30x30x16xf32>, %kernel: tensor<3x3x16x32xf32>, %bias: tensor<32xf32>) -> tensor<2x28x28x32xf32> {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %empty = tensor.empty() : tensor<2x28x28x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x28x28x32xf32>) -> tensor<2x28x28x32xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %kernel : tensor<2x30x30x16xf32>, tensor<3x3x16x32xf32>) outs(%init : tensor<2x28x28x32xf32>) -> tensor<2x28x28x32xf32>
  %biased = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%conv, %bias : tensor<2x28x28x32xf32>, tensor<32xf32>) outs(%empty : tensor<2x28x28x32xf32>) attrs = {layer = "bias"} {
  ^bb0(%x: f32, %b: f32, %out: f32):
    %sum = arith.addf %x, %b : f32
    linalg.yield %sum : f32
  } -> tensor<2x28x28x32xf32>
  %relu6 = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%biased : tensor<2x28x28x32xf32>) outs(%empty : tensor<2x28x28x32xf32>) attrs = {layer = "relu6"} {
  ^bb0(%x: f32, %out: f32):
    %low = arith.maximumf %x, %zero : f32
    %both = arith.minimumf %low, %six : f32
    linalg.yield %both : f32
  } -> tensor<2x28x28x32xf32>
  return %relu6 : tensor<2x28x28x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %convs = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %stem, %conv = transform.split_handle %convs : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bias = transform.structured.match attributes {layer = "bias"} in %root : (!transform.any_op) -> !transform.any_op
    %relu = transform.structured.match attributes {layer = "relu6"} in %root : (!transform.any_op) -> !transform.any_op

    // One image, four rows, all channels per worker.
    %tile, %forall = transform.structured.tile_using_forall %relu tile_sizes [1, 4, 0, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    // The heavy op first, then the cheap one.
    %conv_in, %l0 = transform.structured.fuse_into_containing_op %conv into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bias_in, %l1 = transform.structured.fuse_into_containing_op %bias into %l0
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
