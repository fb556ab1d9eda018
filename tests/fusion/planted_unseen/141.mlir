// producer: linalg.mul
// consumer: linalg.reduce
// cause: dead-handle
// step: transform.structured.generalize
// repair: yes
// Squeeze of a squeeze-and-excite block: x * x averaged over the pixels, a sigmoid of it.
func.func @squeeze(%x: tensor<5x49x30xf32>, %y: tensor<5x49x30xf32>) -> tensor<5x30xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<5x49x30xf32>
  %products = linalg.mul ins(%x, %y : tensor<5x49x30xf32>, tensor<5x49x30xf32>) outs(%e0 : tensor<5x49x30xf32>) -> tensor<5x49x30xf32>
  %e1 = tensor.empty() : tensor<5x30xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<5x30xf32>) -> tensor<5x30xf32>
  %sums = linalg.reduce { arith.addf } ins(%products : tensor<5x49x30xf32>) outs(%init : tensor<5x30xf32>) dimensions = [1]
  %squashed = linalg.tanh ins(%sums : tensor<5x30xf32>) outs(%e1 : tensor<5x30xf32>) -> tensor<5x30xf32>
  return %squashed : tensor<5x30xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %products = transform.structured.match ops{["linalg.mul"]} in %root : (!transform.any_op) -> !transform.any_op
    %sums = transform.structured.match ops{["linalg.reduce"]} in %root : (!transform.any_op) -> !transform.any_op
    %squashed = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %elementwise = transform.merge_handles %products, %squashed : !transform.any_op
    %generics = transform.structured.generalize %elementwise : (!transform.any_op) -> !transform.any_op
    %first, %last = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %last_tile, %loop = transform.structured.tile_using_forall %last tile_sizes [1, 15]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sums_tile, %loop_1 = transform.structured.fuse_into_containing_op %sums into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %products_tile, %loop_2 = transform.structured.fuse_into_containing_op %products into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
