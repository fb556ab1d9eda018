// producer: 11
// consumer: 20
// cause: outside-the-loop
// repair: yes
// A convolution in a helper, which two models share; the activation is with the caller.
module {
  func.func private @stem(%img: tensor<4x34x34x3xf32>, %filter: tensor<3x3x3x16xf32>) -> tensor<4x32x32x16xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x32x32x16xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x32x32x16xf32>) -> tensor<4x32x32x16xf32>
    %c = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>, tag = "stem_conv"}
        ins(%img, %filter : tensor<4x34x34x3xf32>, tensor<3x3x3x16xf32>) outs(%init : tensor<4x32x32x16xf32>) -> tensor<4x32x32x16xf32>
    return %c : tensor<4x32x32x16xf32>
  }
  func.func @model_a(%img: tensor<4x34x34x3xf32>, %filter: tensor<3x3x3x16xf32>) -> tensor<4x32x32x16xf32> {
    %six = arith.constant 6.0 : f32
    %zero = arith.constant 0.0 : f32
    %c = call @stem(%img, %filter) : (tensor<4x34x34x3xf32>, tensor<3x3x3x16xf32>) -> tensor<4x32x32x16xf32>
    %e = tensor.empty() : tensor<4x32x32x16xf32>
    %r6 = linalg.map ins(%c : tensor<4x32x32x16xf32>) outs(%e : tensor<4x32x32x16xf32>) {tag = "relu6"}
      (%a: f32, %o: f32) {
        %m = arith.maximumf %a, %zero : f32
        %n = arith.minimumf %m, %six : f32
        linalg.yield %n : f32
      }
    return %r6 : tensor<4x32x32x16xf32>
  }
  func.func @model_b(%img: tensor<4x34x34x3xf32>, %filter: tensor<3x3x3x16xf32>) -> tensor<4x32x32x16xf32> {
    %c = call @stem(%img, %filter) : (tensor<4x34x34x3xf32>, tensor<3x3x3x16xf32>) -> tensor<4x32x32x16xf32>
    return %c : tensor<4x32x32x16xf32>
  }
}

// -----

// The activation by rows of the image, with the convolution that feeds it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.map"]} attributes {tag = "relu6"} in %root : (!transform.any_op) -> !transform.any_op
    %rows, %grid = transform.structured.tile_using_forall %relu tile_sizes [1, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %conv = transform.structured.match interface{TilingInterface} attributes {tag = "stem_conv"} in %root : (!transform.any_op) -> !transform.any_op
    %conv_in, %grid_1 = transform.structured.fuse_into_containing_op %conv into %grid
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
