// producer: linalg.unpack
// consumer: linalg.exp
// cause: named-ops
// step: transform.apply_registered_pass
// repair: yes
// why: the pass fuses linalg.generic only; tiled, the two fuse
func.func @f(%x: tensor<4x4x8x8xf32>) -> tensor<32x32xf32> {
  %u = tensor.empty() : tensor<32x32xf32>
  %0 = linalg.unpack %x inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %u : tensor<4x4x8x8xf32> -> tensor<32x32xf32>
  %e = tensor.empty() : tensor<32x32xf32>
  %1 = linalg.exp ins(%0 : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %1 : tensor<32x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %after = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
