// producer: linalg.exp
// consumer: linalg.div
// cause: several-uses
// repair: yes
// why: the row sum outside of the loop reads the exponentials too; with sum and broadcast fused first, nothing outside does
func.func @f(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x64xf32>
  %exp = linalg.exp ins(%x : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = tensor.empty() : tensor<32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%r : tensor<32xf32>) -> tensor<32xf32>
  %sum = linalg.reduce ins(%exp : tensor<32x64xf32>) outs(%init : tensor<32xf32>) dimensions = [1]
    (%in: f32, %acc: f32) {
      %s = arith.addf %in, %acc : f32
      linalg.yield %s : f32
    }
  %w = tensor.empty() : tensor<32x64xf32>
  %wide = linalg.broadcast ins(%sum : tensor<32xf32>) outs(%w : tensor<32x64xf32>) dimensions = [1]
  %d = tensor.empty() : tensor<32x64xf32>
  %div = linalg.div ins(%exp, %wide : tensor<32x64xf32>, tensor<32x64xf32>) outs(%d : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %div : tensor<32x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %div = transform.structured.match ops{["linalg.div"]} in %root : (!transform.any_op) -> !transform.any_op
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %div tile_sizes [8, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %exp into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
