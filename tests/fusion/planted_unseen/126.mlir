// producer: linalg.exp
// consumer: linalg.div
// cause: dead-handle
// step: transform.structured.generalize
// repair: yes
// The second half of a softmax: the powers of shifted rows, over their sums.
func.func @softmax_tail(%shifted: tensor<?x?xf32>, %sums: tensor<?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %shifted, %c0 : tensor<?x?xf32>
  %n = tensor.dim %shifted, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %powers = linalg.exp ins(%shifted : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %wide = linalg.broadcast ins(%sums : tensor<?xf32>) outs(%e : tensor<?x?xf32>) dimensions = [1]
  %y = linalg.div ins(%powers, %wide : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// All as generics; the quotients by tiles; the powers within.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %div = transform.structured.match ops{["linalg.div"]} in %root : (!transform.any_op) -> !transform.any_op
    %wide = transform.structured.match ops{["linalg.broadcast"]} in %root : (!transform.any_op) -> !transform.any_op
    %named = transform.structured.match ops{["linalg.exp", "linalg.broadcast"]} in %root : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %div tile_sizes [4, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %exp_tile, %l1 = transform.structured.fuse_into_containing_op %exp into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
