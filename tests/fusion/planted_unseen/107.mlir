// producer: 11
// consumer: 17
// cause: outside-the-loop
// repair: yes
// A model in functions: the encoder calls a projection, and adds to it what it has.
module {
  func.func private @project(%x: tensor<8x96x64xf32>, %w: tensor<8x64x160xf32>) -> tensor<8x96x160xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x96x160xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x96x160xf32>) -> tensor<8x96x160xf32>
    %p = linalg.batch_matmul ins(%x, %w : tensor<8x96x64xf32>, tensor<8x64x160xf32>) outs(%init : tensor<8x96x160xf32>) -> tensor<8x96x160xf32>
    return %p : tensor<8x96x160xf32>
  }
  func.func @encode(%x: tensor<8x96x64xf32>, %w: tensor<8x64x160xf32>, %skip: tensor<8x96x160xf32>) -> tensor<8x96x160xf32> {
    %p = func.call @project(%x, %w) : (tensor<8x96x64xf32>, tensor<8x64x160xf32>) -> tensor<8x96x160xf32>
    %e = tensor.empty() : tensor<8x96x160xf32>
    %sum = linalg.add ins(%p, %skip : tensor<8x96x160xf32>, tensor<8x96x160xf32>) outs(%e : tensor<8x96x160xf32>) -> tensor<8x96x160xf32>
    return %sum : tensor<8x96x160xf32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %sum tile_sizes [1, 32, 80]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product_tile, %loop_1 = transform.structured.fuse_into_containing_op %product into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
