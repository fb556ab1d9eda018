// producer: linalg.mul
// consumer: linalg.matmul
// cause: side-effects
// repair: no
// Scaled keys go into a cache, whose first rows are those of the beginning of the text; scores read the cache.
func.func @decode(%keys: tensor<32x64xf32>, %scale: tensor<32x64xf32>, %queries: tensor<16x64xf32>, %cache: memref<32x64xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x64xf32>
  %scaled = linalg.mul ins(%keys, %scale : tensor<32x64xf32>, tensor<32x64xf32>) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
  %rows = bufferization.to_buffer %scaled read_only : tensor<32x64xf32> to memref<32x64xf32>
  memref.copy %rows, %cache : memref<32x64xf32> to memref<32x64xf32>
  %first = memref.subview %cache[0, 0] [1, 64] [1, 1] : memref<32x64xf32> to memref<1x64xf32, strided<[64, 1]>>
  linalg.fill ins(%zero : f32) outs(%first : memref<1x64xf32, strided<[64, 1]>>)
  %stored = bufferization.to_tensor %cache restrict : memref<32x64xf32> to tensor<32x64xf32>
  %scores_empty = tensor.empty() : tensor<16x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%scores_empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %scores = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%queries, %stored : tensor<16x64xf32>, tensor<32x64xf32>) outs(%init : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %scores : tensor<16x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %scores = transform.structured.match ops{["linalg.matmul"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %scores tile_sizes [8, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %piece, %steps = transform.structured.tile_using_for %tile tile_sizes [0, 0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_licm to %steps : !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
