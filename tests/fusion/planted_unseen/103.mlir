// producer: 10
// consumer: 13
// cause: indivisible-sizes
// repair: yes
// 100 x 75 is no multiple of anything that a vector unit likes.
module {
  func.func @layer(%x: tensor<100x50xf32>, %r: tensor<100x50xf32>, %w: tensor<50x75xf32>) -> tensor<100x75xf32> {
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<100x50xf32>
    %summed = linalg.add ins(%x, %r : tensor<100x50xf32>, tensor<100x50xf32>) outs(%e0 : tensor<100x50xf32>) -> tensor<100x50xf32>
    %e1 = tensor.empty() : tensor<100x75xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<100x75xf32>) -> tensor<100x75xf32>
    %product = linalg.matmul ins(%summed, %w : tensor<100x50xf32>, tensor<50x75xf32>) outs(%init : tensor<100x75xf32>) -> tensor<100x75xf32>
    return %product : tensor<100x75xf32>
  }
}

// -----

// Pads the product to whole tiles of 32x16, so that all of its tiles are alike, and computes what it reads per tile.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %summed = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %padded, %pads, %copies = transform.structured.pad %product pad_to_multiple_of [32, 16, 8] {
      padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32],
      padding_dimensions = [0, 1, 2]
    } : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_forall %padded tile_sizes [32, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %summed_tile, %loop_1 = transform.structured.fuse_into_containing_op %summed into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
