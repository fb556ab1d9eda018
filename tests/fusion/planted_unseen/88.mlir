// producer: 11
// consumer: 13
// cause: indivisible-sizes
// repair: yes
// A product whose sides the compiler before us has packed for 8x8x2 tiles of bf16, with an odd number of rows.
func.func @packed_product(%lhs: tensor<?x128xbf16>, %rhs: tensor<32x64x8x2xbf16>, %acc: tensor<?x32x8x8xf32>) -> tensor<?x32x8x8xf32> {
  %pad = arith.constant 0.0 : bf16
  %c0 = arith.constant 0 : index
  %blocks = tensor.dim %acc, %c0 : tensor<?x32x8x8xf32>
  %empty = tensor.empty(%blocks) : tensor<?x64x8x2xbf16>
  %packed = linalg.pack %lhs padding_value(%pad : bf16) inner_dims_pos = [0, 1] inner_tiles = [8, 2] into %empty
      : tensor<?x128xbf16> -> tensor<?x64x8x2xbf16>
  %product = linalg.mmt4d ins(%packed, %rhs : tensor<?x64x8x2xbf16>, tensor<32x64x8x2xbf16>)
      outs(%acc : tensor<?x32x8x8xf32>) -> tensor<?x32x8x8xf32>
  return %product : tensor<?x32x8x8xf32>
}

// -----

// For a machine with few registers: half a tile (4 of 8 rows) at a time; the left side is packed as it is needed.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.mmt4d"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.fuse %product tile_sizes [1, 4, 0, 4, 0, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
