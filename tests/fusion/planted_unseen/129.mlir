// producer: linalg.depthwise_conv_2d_nhwc_hwc
// consumer: linalg.generic#0
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// Depthwise convolution, bias per channel, ReLU6: a block of a mobile network.
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
#ch = affine_map<(n, h, w, c) -> (c)>
func.func @depthwise_block(%image: tensor<1x31x31x24xf32>, %filter: tensor<3x3x24xf32>, %bias: tensor<24xf32>) -> tensor<1x29x29x24xf32> {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %e0 = tensor.empty() : tensor<1x29x29x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x29x29x24xf32>) -> tensor<1x29x29x24xf32>
  %conv = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x31x31x24xf32>, tensor<3x3x24xf32>) outs(%init : tensor<1x29x29x24xf32>) -> tensor<1x29x29x24xf32>
  %e1 = tensor.empty() : tensor<1x29x29x24xf32>
  %biased = linalg.generic {indexing_maps = [#id, #ch, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%conv, %bias : tensor<1x29x29x24xf32>, tensor<24xf32>) outs(%e1 : tensor<1x29x29x24xf32>) {
  ^bb0(%x: f32, %b: f32, %o: f32):
    %s = arith.addf %x, %b : f32
    linalg.yield %s : f32
  } -> tensor<1x29x29x24xf32>
  %e2 = tensor.empty() : tensor<1x29x29x24xf32>
  %clamped = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%biased : tensor<1x29x29x24xf32>) outs(%e2 : tensor<1x29x29x24xf32>) {
  ^bb0(%x: f32, %o: f32):
    %lo = arith.maximumf %x, %zero : f32
    %hi = arith.minimumf %lo, %six : f32
    linalg.yield %hi : f32
  } -> tensor<1x29x29x24xf32>
  return %clamped : tensor<1x29x29x24xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %conv = transform.structured.match ops{["linalg.depthwise_conv_2d_nhwc_hwc"]} in %root : (!transform.any_op) -> !transform.any_op
    %init = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %bias, %clamp = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %clamp_tile, %rows, %pixels = transform.structured.tile_using_for %clamp tile_sizes [0, 4, 8, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %conv_tile, %l1 = transform.structured.fuse_into_containing_op %conv into %pixels
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %l2 = transform.structured.fuse_into_containing_op %init into %l1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bias_tile, %l3 = transform.structured.fuse_into_containing_op %bias into %l2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
