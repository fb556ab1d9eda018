// producer: 16
// consumer: 19
// cause: empty-handle
// repair: yes
// Two heads of a network, one in f32 and one in f16: a 3x3 convolution with a residual connection each.
module {
  func.func @head_f32(%x: tensor<1x34x34x16xf32>, %k: tensor<3x3x16x32xf32>, %skip: tensor<1x32x32x32xf32>, %acc: tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32> {
    %conv = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<1x34x34x16xf32>, tensor<3x3x16x32xf32>)
        outs(%acc : tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32>
    %empty = tensor.empty() : tensor<1x32x32x32xf32>
    %sum = linalg.add ins(%conv, %skip : tensor<1x32x32x32xf32>, tensor<1x32x32x32xf32>)
        outs(%empty : tensor<1x32x32x32xf32>) -> tensor<1x32x32x32xf32>
    return %sum : tensor<1x32x32x32xf32>
  }
  func.func @head_f16(%x: tensor<1x34x34x16xf16>, %k: tensor<3x3x16x32xf16>, %skip: tensor<1x32x32x32xf16>, %acc: tensor<1x32x32x32xf16>) -> tensor<1x32x32x32xf16> {
    %conv = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<1x34x34x16xf16>, tensor<3x3x16x32xf16>)
        outs(%acc : tensor<1x32x32x32xf16>) -> tensor<1x32x32x32xf16>
    %empty = tensor.empty() : tensor<1x32x32x32xf16>
    %sum = linalg.sub ins(%conv, %skip : tensor<1x32x32x32xf16>, tensor<1x32x32x32xf16>)
        outs(%empty : tensor<1x32x32x32xf16>) -> tensor<1x32x32x32xf16>
    return %sum : tensor<1x32x32x32xf16>
  }
}

// -----

// The two heads in turn: 4 rows of pixels at a time, with the convolution inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sum_a = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv_a = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]}
        filter_result_type = tensor<1x32x32x32xf32> in %root : (!transform.any_op) -> !transform.any_op
    %tile_a, %loop_a = transform.structured.tile_using_forall %sum_a tile_sizes [0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %conv_a_in, %loop_a1 = transform.structured.fuse_into_containing_op %conv_a into %loop_a
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)

    %sum_b = transform.structured.match ops{["linalg.sub"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv_b = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]}
        filter_result_type = tensor<1x34x34x16xf16> in %root : (!transform.any_op) -> !transform.any_op
    %tile_b, %loop_b = transform.structured.tile_using_forall %sum_b tile_sizes [0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %conv_b_in, %loop_b1 = transform.structured.fuse_into_containing_op %conv_b into %loop_b
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
