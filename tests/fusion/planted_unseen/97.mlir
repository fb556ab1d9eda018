// producer: 14
// consumer: 16
// cause: wrong-order
// repair: yes
// A convolution block of an image network: f16 images, f32 accumulators, bias, clamp to [0, 6].
#image = affine_map<(n, h, w, c) -> (n, h, w, c)>
#channel = affine_map<(n, h, w, c) -> (c)>
module {
  func.func @block(%image: tensor<2x58x58x32xf16>, %filter: tensor<3x3x32x64xf16>, %bias: tensor<64xf32>) -> tensor<2x56x56x64xf32> {
    %zero = arith.constant 0.0 : f32
    %six = arith.constant 6.0 : f32
    %empty = tensor.empty() : tensor<2x56x56x64xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x56x56x64xf32>) -> tensor<2x56x56x64xf32>
    %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
        ins(%image, %filter : tensor<2x58x58x32xf16>, tensor<3x3x32x64xf16>) outs(%init : tensor<2x56x56x64xf32>) -> tensor<2x56x56x64xf32>
    %biased = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%conv, %bias : tensor<2x56x56x64xf32>, tensor<64xf32>) outs(%empty : tensor<2x56x56x64xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<2x56x56x64xf32>
    %relu6 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"], last}
        ins(%biased : tensor<2x56x56x64xf32>) outs(%empty : tensor<2x56x56x64xf32>) {
    ^bb0(%a: f32, %out: f32):
      %low = arith.maximumf %a, %zero : f32
      %high = arith.minimumf %low, %six : f32
      linalg.yield %high : f32
    } -> tensor<2x56x56x64xf32>
    return %relu6 : tensor<2x56x56x64xf32>
  }
}

// -----

// Rows of the image over threads; convolution and bias are to be computed per tile.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %relu6 = transform.structured.match ops{["linalg.generic"]} attributes{last} in %root : (!transform.any_op) -> !transform.any_op
    %conv = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %biased = transform.get_producer_of_operand %relu6[0] : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %conv[2] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %relu6 tile_sizes [1, 4, 14, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %conv_tile, %loop_1 = transform.structured.fuse_into_containing_op %conv into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %loop_2 = transform.structured.fuse_into_containing_op %init into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %biased_tile, %loop_3 = transform.structured.fuse_into_containing_op %biased into %loop_2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
