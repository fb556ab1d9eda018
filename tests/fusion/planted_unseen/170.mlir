// producer: 11
// consumer: 12
// cause: outside-the-loop
// repair: yes
// Two entry points of one layer: a prompt in one go, and one token at a time.
module {
  func.func @prefill(%x: tensor<4x32x64xf32>, %w: tensor<4x64x48xf32>, %bias: tensor<4x32x48xf32>) -> tensor<4x32x48xf32> {
    %zero = arith.constant 0.0 : f32
    %dest = tensor.empty() : tensor<4x32x48xf32>
    %acc = linalg.fill ins(%zero : f32) outs(%dest : tensor<4x32x48xf32>) -> tensor<4x32x48xf32>
    %heads = linalg.batch_matmul ins(%x, %w : tensor<4x32x64xf32>, tensor<4x64x48xf32>) outs(%acc : tensor<4x32x48xf32>) -> tensor<4x32x48xf32>
    %out = linalg.add ins(%heads, %bias : tensor<4x32x48xf32>, tensor<4x32x48xf32>) outs(%dest : tensor<4x32x48xf32>) -> tensor<4x32x48xf32>
    return %out : tensor<4x32x48xf32>
  }
  func.func @decode(%x: tensor<4x1x64xf32>, %w: tensor<4x64x48xf32>, %bias: tensor<4x1x48xf32>) -> tensor<4x1x48xf32> {
    %zero = arith.constant 0.0 : f32
    %dest = tensor.empty() : tensor<4x1x48xf32>
    %acc = linalg.fill ins(%zero : f32) outs(%dest : tensor<4x1x48xf32>) -> tensor<4x1x48xf32>
    %heads = linalg.batch_matmul ins(%x, %w : tensor<4x1x64xf32>, tensor<4x64x48xf32>) outs(%acc : tensor<4x1x48xf32>) -> tensor<4x1x48xf32>
    %out = linalg.add ins(%heads, %bias : tensor<4x1x48xf32>, tensor<4x1x48xf32>) outs(%dest : tensor<4x1x48xf32>) -> tensor<4x1x48xf32>
    return %out : tensor<4x1x48xf32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @by_head(%sum: !transform.any_op {transform.consumed}, %product: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %tile, %heads = transform.structured.tile_using_forall %sum tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product_tile, %heads_1 = transform.structured.fuse_into_containing_op %product into %heads
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %heads_1 : !transform.any_op
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %functions = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %functions : !transform.any_op {
    ^bb0(%function: !transform.any_op):
      %fill = transform.structured.match ops{["linalg.fill"]} in %function : (!transform.any_op) -> !transform.any_op
      transform.annotate %fill "accumulator" : !transform.any_op
      %sum = transform.structured.match ops{["linalg.add"]} in %function : (!transform.any_op) -> !transform.any_op
      %product = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
      %loop = transform.include @by_head failures(propagate) (%sum, %product)
        : (!transform.any_op, !transform.any_op) -> !transform.any_op
      transform.annotate %loop "heads" : !transform.any_op
      transform.apply_cse to %function : !transform.any_op
    }
    transform.yield
  }
}
