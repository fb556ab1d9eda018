// producer: linalg.pack
// consumer: linalg.add
// cause: indivisible-sizes
// repair: yes
// why: tiles of 4 cut the pack's inner tiles of 8; with whole inner tiles it fuses
func.func @f(%x: tensor<4x4x8x8xf32>, %a: tensor<32x32xf32>) -> tensor<4x4x8x8xf32> {
  %d = tensor.empty() : tensor<4x4x8x8xf32>
  %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %d : tensor<32x32xf32> -> tensor<4x4x8x8xf32>
  %e = tensor.empty() : tensor<4x4x8x8xf32>
  %1 = linalg.add ins(%0, %x : tensor<4x4x8x8xf32>, tensor<4x4x8x8xf32>) outs(%e : tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
  return %1 : tensor<4x4x8x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %producer = transform.structured.match ops{["linalg.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    %consumer = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %consumer tile_sizes [1, 1, 4, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %producer into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
