// producer: linalg.generic
// consumer: linalg.matmul
// cause: not-tileable
// repair: no
// Every second row and column of a normalised image goes into a product with weights.
func.func @subsample(%image: tensor<64x64xf32>, %gain: tensor<64xf32>, %weights: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %scaled_empty = tensor.empty() : tensor<64x64xf32>
  %scaled = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%image, %gain : tensor<64x64xf32>, tensor<64xf32>) outs(%scaled_empty : tensor<64x64xf32>) {
    ^bb0(%x: f32, %g: f32, %o: f32):
      %m = arith.mulf %x, %g : f32
      linalg.yield %m : f32
  } -> tensor<64x64xf32>
  %even = tensor.extract_slice %scaled[0, 0] [32, 32] [2, 2] : tensor<64x64xf32> to tensor<32x32xf32>
  %empty = tensor.empty() : tensor<32x48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %product = linalg.matmul ins(%even, %weights : tensor<32x32xf32>, tensor<32x48xf32>) outs(%init : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %product : tensor<32x48xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %block, %loops:2 = transform.structured.fuse %product tile_sizes [8, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    // The slice that is left between: merged into that of the tile.
    %func = transform.get_parent_op %loops#0 {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.tensor.merge_consecutive_insert_extract_slice
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    // Again, now that the tile reads what the producer gives.
    %part, %k_loop = transform.structured.fuse %block tile_sizes [0, 0, 8] {apply_cleanup}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
