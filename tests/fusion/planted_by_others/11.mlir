// producer: linalg.tanh
// consumer: linalg.mul
// cause: outside-the-loop
// repair: yes
func.func private @gelu_ish(%x: tensor<128x32xf32>) -> tensor<128x32xf32> {
  %e = tensor.empty() : tensor<128x32xf32>
  %t = linalg.tanh ins(%x : tensor<128x32xf32>) outs(%e : tensor<128x32xf32>) -> tensor<128x32xf32>
  return %t : tensor<128x32xf32>
}
func.func @chain(%x: tensor<128x32xf32>, %y: tensor<128x32xf32>) -> tensor<128x32xf32> {
  %t = func.call @gelu_ish(%x) : (tensor<128x32xf32>) -> tensor<128x32xf32>
  %e = tensor.empty() : tensor<128x32xf32>
  %r = linalg.mul ins(%t, %y : tensor<128x32xf32>, tensor<128x32xf32>) outs(%e : tensor<128x32xf32>) -> tensor<128x32xf32>
  return %r : tensor<128x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tanh = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %mul = transform.structured.match ops{["linalg.mul"]} in %root : (!transform.any_op) -> !transform.any_op
    %mul_t, %loop = transform.structured.tile_using_forall %mul tile_sizes [32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tanh_t, %loop1 = transform.structured.fuse_into_containing_op %tanh into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
