// producer: linalg.exp
// consumer: linalg.div
// cause: several-uses
// step: transform.structured.tile_using_forall
// repair: yes
// Softmax of rows that are small numbers: without the maximum.
func.func @softmax(%source: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %zero = arith.constant 0.0 : f32
  %matrix = tensor.empty() : tensor<128x256xf32>
  %row = tensor.empty() : tensor<128xf32>
  %powers = linalg.exp ins(%source : tensor<128x256xf32>) outs(%matrix : tensor<128x256xf32>) -> tensor<128x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<128xf32>) -> tensor<128xf32>
  %sums = linalg.reduce { arith.addf } ins(%powers : tensor<128x256xf32>) outs(%init : tensor<128xf32>) dimensions = [1]
  %sum = linalg.broadcast ins(%sums : tensor<128xf32>) outs(%matrix : tensor<128x256xf32>) dimensions = [1]
  %softmax = linalg.div ins(%powers, %sum : tensor<128x256xf32>, tensor<128x256xf32>) outs(%matrix : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %softmax : tensor<128x256xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %div = transform.structured.match ops{["linalg.div"]} in %root : (!transform.any_op) -> !transform.any_op
    %exp = transform.get_producer_of_operand %div[0] : (!transform.any_op) -> !transform.any_op
    %broadcast = transform.get_producer_of_operand %div[1] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %div tile_sizes [8, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %broadcast_tile, %loop_1 = transform.structured.fuse_into_containing_op %broadcast into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %exp_tile, %loop_2 = transform.structured.fuse_into_containing_op %exp into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
