// producer: 9
// consumer: 12
// cause: wrong-order
// repair: yes
// A quantized layer: weights as they are stored (outputs by inputs), turned for the product; i8 in, i32 out.
func.func @qlinear(%x: tensor<128x256xi8>, %stored: tensor<512x256xi8>) -> tensor<128x512xi32> {
  %zero = arith.constant 0 : i32
  %w_empty = tensor.empty() : tensor<256x512xi8>
  %w = linalg.transpose ins(%stored : tensor<512x256xi8>) outs(%w_empty : tensor<256x512xi8>) permutation = [1, 0]
  %acc_empty = tensor.empty() : tensor<128x512xi32>
  %acc = linalg.fill ins(%zero : i32) outs(%acc_empty : tensor<128x512xi32>) -> tensor<128x512xi32>
  %y = linalg.matmul ins(%x, %w : tensor<128x256xi8>, tensor<256x512xi8>) outs(%acc : tensor<128x512xi32>) -> tensor<128x512xi32>
  return %y : tensor<128x512xi32>
}

// -----

// Data tiling for a dot-product instruction (8 x 16, four bytes at a time), then blocks for the cache, weights turned inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %w = transform.structured.match ops{["linalg.transpose"]} in %root : (!transform.any_op) -> !transform.any_op
    %y = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.op<"linalg.matmul">
    %packed = transform.structured.pack %y packed_sizes = [8, 16, 4]
      : (!transform.op<"linalg.matmul">) -> !transform.op<"linalg.generic">
    %tile, %loops:2 = transform.structured.tile_using_for %packed tile_sizes [4, 4]
      : (!transform.op<"linalg.generic">) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %w_in, %loop_1 = transform.structured.fuse_into_containing_op %w into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
