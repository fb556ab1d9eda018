// producer: linalg.generic
// consumer: linalg.matmul
// cause: folded-transpose
// repair: yes
// Product with a transposed, biased left side; the columns are packed for the kernel.
func.func @packed_product(%raw: tensor<128x64xf32>, %bias: tensor<128xf32>, %rhs: tensor<128x96xf32>) -> tensor<64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %biased_empty = tensor.empty() : tensor<128x64xf32>
  %biased = linalg.generic {
      indexing_maps = [affine_map<(k, m) -> (k, m)>, affine_map<(k, m) -> (k)>, affine_map<(k, m) -> (k, m)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%raw, %bias : tensor<128x64xf32>, tensor<128xf32>) outs(%biased_empty : tensor<128x64xf32>) {
    ^bb0(%x: f32, %b: f32, %o: f32):
      %s = arith.addf %x, %b : f32
      linalg.yield %s : f32
  } -> tensor<128x64xf32>
  %lhs_empty = tensor.empty() : tensor<64x128xf32>
  %lhs = linalg.transpose ins(%biased : tensor<128x64xf32>) outs(%lhs_empty : tensor<64x128xf32>) permutation = [1, 0]
  %empty = tensor.empty() : tensor<64x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<64x128xf32>, tensor<128x96xf32>) outs(%init : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %product : tensor<64x96xf32>
}

// -----

// Pack the product; the bias and the transpose of its left side are to run inside of the loop over packed blocks.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.op<"linalg.matmul">
    %packed = transform.structured.pack %product packed_sizes = [8, 16, 8]
      : (!transform.op<"linalg.matmul">) -> !transform.op<"linalg.generic">
    %pack = transform.get_producer_of_operand %packed[0] : (!transform.op<"linalg.generic">) -> !transform.any_op
    %lhs = transform.get_producer_of_operand %pack[0] : (!transform.any_op) -> !transform.any_op
    %func = transform.get_parent_op %pack {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %block, %blocks = transform.structured.tile_using_forall %packed tile_sizes [1, 1]
      : (!transform.op<"linalg.generic">) -> (!transform.any_op, !transform.any_op)
    %pack_block, %blocks_1 = transform.structured.fuse_into_containing_op %pack into %blocks
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %lhs_block, %blocks_2 = transform.structured.fuse_into_containing_op %lhs into %blocks_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %biased = transform.get_producer_of_operand %lhs_block[0] : (!transform.any_op) -> !transform.any_op
    %biased_block, %blocks_3 = transform.structured.fuse_into_containing_op %biased into %blocks_2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
