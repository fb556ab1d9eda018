// producer: 8
// consumer: 9
// cause: folded-transpose
// repair: yes
// Attention scores: keys arrive head-major, are transposed, and multiplied. i8 x i8 -> i32.
func.func @scores(%queries: tensor<4x64x128xi8>, %keys: tensor<4x256x128xi8>, %acc: tensor<4x64x256xi32>) -> tensor<4x64x256xi32> {
  %room = tensor.empty() : tensor<4x128x256xi8>
  %keys_t = linalg.transpose ins(%keys : tensor<4x256x128xi8>) outs(%room : tensor<4x128x256xi8>) permutation = [0, 2, 1]
  %scores = linalg.batch_matmul ins(%queries, %keys_t : tensor<4x64x128xi8>, tensor<4x128x256xi8>) outs(%acc : tensor<4x64x256xi32>) -> tensor<4x64x256xi32>
  return %scores : tensor<4x64x256xi32>
}

// -----

// Data tiling of the product: blocks of 16 x 16 x 32.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %bmm = transform.structured.match ops{["linalg.batch_matmul"]} in %func : (!transform.any_op) -> !transform.any_op
    %packed = transform.structured.pack %bmm packed_sizes = [0, 16, 16, 32]
      : (!transform.any_op) -> (!transform.op<"linalg.generic">)

    // Tidy up what packing made.
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op

    %tile, %forall = transform.structured.tile_using_forall %packed tile_sizes [1, 1, 4]
      : (!transform.op<"linalg.generic">) -> (!transform.any_op, !transform.any_op)
    %rhs = transform.structured.match ops{["linalg.pack"]} in %func : (!transform.any_op) -> !transform.any_op
    %lhs_pack, %rhs_pack, %acc_pack = transform.split_handle %rhs
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %rhs_tile, %l0 = transform.structured.fuse_into_containing_op %rhs_pack into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %transposes = transform.structured.match ops{["linalg.transpose"]} in %func : (!transform.any_op) -> !transform.any_op
    %transpose_tile, %l1 = transform.structured.fuse_into_containing_op %transposes into %l0
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
