// producer: linalg.conv_2d_nhwc_hwcf
// consumer: linalg.generic
// cause: wrong-order
// step: transform.structured.tile_using_forall
// repair: yes
func.func @conv_bias(%img: tensor<1x18x18x8xf32>, %flt: tensor<3x3x8x16xf32>, %b: tensor<16xf32>) -> tensor<1x16x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1x16x16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%img, %flt : tensor<1x18x18x8xf32>, tensor<3x3x8x16xf32>) outs(%init : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %e1 = tensor.empty() : tensor<1x16x16x16xf32>
  %out = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
                         iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%conv, %b : tensor<1x16x16x16xf32>, tensor<16xf32>) outs(%e1 : tensor<1x16x16x16xf32>) {
  ^bb0(%p: f32, %c: f32, %o: f32):
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  } -> tensor<1x16x16x16xf32>
  return %out : tensor<1x16x16x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %conv = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %conv_t, %conv_loop = transform.structured.tile_using_forall %conv tile_sizes [0, 4, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bias = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %bias_t, %l:2 = transform.structured.fuse %bias tile_sizes [0, 4, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
