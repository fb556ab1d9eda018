// producer: linalg.exp
// consumer: linalg.abs
// cause: empty-handle
// step: transform.structured.match
// repair: yes
// why: no op is called linalg.exp2, so that an empty handle is fused, without a word
func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = linalg.exp ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = linalg.abs ins(%0 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %producer = transform.structured.match ops{["linalg.exp2"]} in %root : (!transform.any_op) -> !transform.any_op
    %consumer = transform.structured.match ops{["linalg.abs"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %consumer tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %producer into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
