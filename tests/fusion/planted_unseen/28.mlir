// producer: 10
// consumer: 11
// cause: outside-the-loop
// step: transform.apply_licm
// repair: yes
// A depthwise-style gain: the exponential of a row of logarithms scales every row of the input, then tanh.
func.func @gains(%x: tensor<64x128xf32>, %logs: tensor<128xf32>) -> tensor<64x128xf32> {
  %e1 = tensor.empty() : tensor<128xf32>
  %e2 = tensor.empty() : tensor<64x128xf32>
  %gain = linalg.exp ins(%logs : tensor<128xf32>) outs(%e1 : tensor<128xf32>) -> tensor<128xf32>
  %gains = linalg.broadcast ins(%gain : tensor<128xf32>) outs(%e2 : tensor<64x128xf32>) dimensions = [0]
  %scaled = linalg.mul ins(%x, %gains : tensor<64x128xf32>, tensor<64x128xf32>) outs(%e2 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %out = linalg.tanh ins(%scaled : tensor<64x128xf32>) outs(%e2 : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %out : tensor<64x128xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %out = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %scaled = transform.get_producer_of_operand %out[0] : (!transform.any_op) -> !transform.any_op
    %gains = transform.get_producer_of_operand %scaled[1] : (!transform.any_op) -> !transform.any_op
    %gain = transform.get_producer_of_operand %gains[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %out tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %scaled_tile, %loop_1 = transform.structured.fuse_into_containing_op %scaled into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %gains_tile, %loop_2 = transform.structured.fuse_into_containing_op %gains into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %gain_tile, %loop_3 = transform.structured.fuse_into_containing_op %gain into %loop_2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.get_parent_op %loop_3 {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    // Tidy up the index arithmetic in the loop.
    transform.apply_licm to %loop_3 : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
