// producer: linalg.conv_1d_nwc_wcf
// consumer: linalg.generic
// cause: side-effects
// step: transform.structured.bufferize_to_allocation
// repair: yes
// 1-d convolution over a sequence, then a leaky ReLU.
#id = affine_map<(n, w, f) -> (n, w, f)>
func.func @sequence(%x: tensor<3x42x10xf32>, %filter: tensor<3x10x14xf32>) -> tensor<3x40x14xf32> {
  %zero = arith.constant 0.0 : f32
  %slope = arith.constant 0.1 : f32
  %e = tensor.empty() : tensor<3x40x14xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<3x40x14xf32>) -> tensor<3x40x14xf32>
  %conv = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>}
      ins(%x, %filter : tensor<3x42x10xf32>, tensor<3x10x14xf32>) outs(%init : tensor<3x40x14xf32>) -> tensor<3x40x14xf32>
  %leaky = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%conv : tensor<3x40x14xf32>) outs(%e : tensor<3x40x14xf32>) {
  ^bb0(%a: f32, %o: f32):
    %low = arith.mulf %a, %slope : f32
    %r = arith.maximumf %a, %low : f32
    linalg.yield %r : f32
  } -> tensor<3x40x14xf32>
  return %leaky : tensor<3x40x14xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %conv = transform.structured.match ops{["linalg.conv_1d_nwc_wcf"]} in %root : (!transform.any_op) -> !transform.any_op
    %buffer, %made = transform.structured.bufferize_to_allocation %conv : !transform.any_op
    %leaky = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %leaky tile_sizes [1, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
