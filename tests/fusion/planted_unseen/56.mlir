// producer: 8
// consumer: 9
// cause: indivisible-sizes
// repair: yes
// A product of already blocked sides (blocks of 16x16), f64; the left side is packed here.
func.func @blocked_product(%a: tensor<160x224xf64>, %b: tensor<7x14x16x16xf64>, %c: tensor<10x7x16x16xf64>) -> tensor<10x7x16x16xf64> {
  %ea = tensor.empty() : tensor<10x14x16x16xf64>
  %ap = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %ea {tag = "pack_left"} : tensor<160x224xf64> -> tensor<10x14x16x16xf64>
  %p = linalg.mmt4d {tag = "blocks"} ins(%ap, %b : tensor<10x14x16x16xf64>, tensor<7x14x16x16xf64>) outs(%c : tensor<10x7x16x16xf64>) -> tensor<10x7x16x16xf64>
  return %p : tensor<10x7x16x16xf64>
}

// -----

// Blocks of the result in parallel, and 8x8 within a block; the left side is packed there, a strip at a time.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %blocks = transform.structured.match ops{["linalg.mmt4d"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %grid = transform.structured.fuse %blocks tile_sizes [1, 1, 0, 8, 8, 0] {use_forall}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
