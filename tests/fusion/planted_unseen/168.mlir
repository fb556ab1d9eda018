// producer: linalg.exp
// consumer: linalg.sub
// cause: failed-before
// repair: yes
func.func @ragged(%x: tensor<100x60xf32>, %y: tensor<100x60xf32>) -> tensor<100x60xf32> {
  %empty = tensor.empty() : tensor<100x60xf32>
  %exp = linalg.exp ins(%x : tensor<100x60xf32>) outs(%empty : tensor<100x60xf32>) -> tensor<100x60xf32>
  %sub = linalg.sub ins(%exp, %y : tensor<100x60xf32>, tensor<100x60xf32>) outs(%empty : tensor<100x60xf32>) -> tensor<100x60xf32>
  return %sub : tensor<100x60xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sub = transform.structured.match ops{["linalg.sub"]} in %root : (!transform.any_op) -> !transform.any_op
    // About 32 rows, whole vectors of 8.
    %rows, %rest, %at = transform.structured.multitile_sizes %sub {dimension = 0, target_size = 32, divisor = 8}
      : (!transform.any_op) -> !transform.param<i64>
    %tile, %loop = transform.structured.tile_using_for %sub tile_sizes [%rows, 0]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %exp_tile, %fused = transform.structured.fuse_into_containing_op %exp into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %columns, %inner = transform.structured.tile_using_for %tile tile_sizes [0, 20]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
