// producer: linalg.batch_matmul
// consumer: linalg.add
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// A product whose result is transposed before a bias is added: heads first.
func.func @heads(%x: tensor<4x20x36xf32>, %w: tensor<4x36x28xf32>, %bias: tensor<4x28x20xf32>) -> tensor<4x28x20xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x20x28xf32>
  %turned_empty = tensor.empty() : tensor<4x28x20xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x20x28xf32>) -> tensor<4x20x28xf32>
  %product = linalg.batch_matmul ins(%x, %w : tensor<4x20x36xf32>, tensor<4x36x28xf32>) outs(%init : tensor<4x20x28xf32>) -> tensor<4x20x28xf32>
  %turned = linalg.transpose ins(%product : tensor<4x20x28xf32>) outs(%turned_empty : tensor<4x28x20xf32>) permutation = [0, 2, 1]
  %sum = linalg.add ins(%turned, %bias : tensor<4x28x20xf32>, tensor<4x28x20xf32>) outs(%turned_empty : tensor<4x28x20xf32>) -> tensor<4x28x20xf32>
  return %sum : tensor<4x28x20xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %product[2] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %sum tile_sizes [1, 7, 10] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %product_tile, %loop_1 = transform.structured.fuse_into_containing_op %product into %loops#2 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %loop_2 = transform.structured.fuse_into_containing_op %init into %loop_1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
