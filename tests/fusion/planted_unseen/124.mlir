// producer: linalg.matmul#0
// consumer: linalg.add
// cause: not-tileable
// step: transform.structured.fuse_into_containing_op
// repair: yes
// A recurrent layer: the inputs of all steps are projected at once, then the steps follow one another.
func.func @rnn(%xs: tensor<?x16xf32>, %w: tensor<16x24xf32>, %u: tensor<24x24xf32>, %h0: tensor<1x24xf32>) -> tensor<1x24xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %steps = tensor.dim %xs, %c0 : tensor<?x16xf32>
  %e0 = tensor.empty(%steps) : tensor<?x24xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x24xf32>) -> tensor<?x24xf32>
  %xw = linalg.matmul ins(%xs, %w : tensor<?x16xf32>, tensor<16x24xf32>) outs(%init : tensor<?x24xf32>) -> tensor<?x24xf32>
  %last = scf.for %t = %c0 to %steps step %c1 iter_args(%h = %h0) -> (tensor<1x24xf32>) {
    %x = tensor.extract_slice %xw[%t, 0] [1, 24] [1, 1] : tensor<?x24xf32> to tensor<1x24xf32>
    %e1 = tensor.empty() : tensor<1x24xf32>
    %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x24xf32>) -> tensor<1x24xf32>
    %hu = linalg.matmul ins(%h, %u : tensor<1x24xf32>, tensor<24x24xf32>) outs(%i1 : tensor<1x24xf32>) -> tensor<1x24xf32>
    %sum = linalg.add ins(%x, %hu : tensor<1x24xf32>, tensor<1x24xf32>) outs(%e1 : tensor<1x24xf32>) -> tensor<1x24xf32>
    %next = linalg.tanh ins(%sum : tensor<1x24xf32>) outs(%e1 : tensor<1x24xf32>) -> tensor<1x24xf32>
    scf.yield %next : tensor<1x24xf32>
  }
  return %last : tensor<1x24xf32>
}

// -----

// Eight columns of the state at a time, with what they are made of.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tanh = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.get_producer_of_operand %tanh[0] : (!transform.any_op) -> !transform.any_op
    %hu = transform.get_producer_of_operand %sum[1] : (!transform.any_op) -> !transform.any_op
    %slice = transform.get_producer_of_operand %sum[0] : (!transform.any_op) -> !transform.any_op
    %xw = transform.get_producer_of_operand %slice[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %tanh tile_sizes [0, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum_tile, %l1 = transform.structured.fuse_into_containing_op %sum into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %hu_tile, %l2 = transform.structured.fuse_into_containing_op %hu into %l1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %xw_tile, %l3 = transform.structured.fuse_into_containing_op %xw into %l2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
