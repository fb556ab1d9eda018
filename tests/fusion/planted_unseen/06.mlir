// producer: linalg.transpose
// consumer: linalg.add
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// A product in tiles, back in rows, transposed for the next layer, and a residual added.
func.func @residual(%tiles: tensor<8x16x16x8xf32>, %residual: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %empty = tensor.empty() : tensor<128x128xf32>
  %rows = linalg.unpack %tiles inner_dims_pos = [0, 1] inner_tiles = [16, 8] into %empty : tensor<8x16x16x8xf32> -> tensor<128x128xf32>
  %turned = linalg.transpose ins(%rows : tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) permutation = [1, 0]
  %sum = linalg.add ins(%turned, %residual : tensor<128x128xf32>, tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  return %sum : tensor<128x128xf32>
}

// -----

// The sum by tiles of the product, and the transpose with it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @simplify(%root: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    transform.yield %func : !transform.any_op
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.include @simplify failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.add"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %sum tile_sizes [8, 16] interchange [1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_cse to %func : !transform.any_op
    %turned = transform.structured.match ops{["linalg.transpose"]} in %loops#0 : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %turned : !transform.any_op
    transform.yield
  }
}
