// producer: linalg.unpack
// consumer: linalg.pack
// cause: reversed
// repair: no
// why: the unpack comes last: it reads what the pack gives, through exp
func.func @f(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %p = tensor.empty() : tensor<4x4x8x8xf32>
  %0 = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %p : tensor<32x32xf32> -> tensor<4x4x8x8xf32>
  %e = tensor.empty() : tensor<4x4x8x8xf32>
  %1 = linalg.exp ins(%0 : tensor<4x4x8x8xf32>) outs(%e : tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
  %u = tensor.empty() : tensor<32x32xf32>
  %2 = linalg.unpack %1 inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %u : tensor<4x4x8x8xf32> -> tensor<32x32xf32>
  return %2 : tensor<32x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %unpack = transform.structured.match ops{["linalg.unpack"]} in %root : (!transform.any_op) -> !transform.any_op
    %pack = transform.structured.match ops{["linalg.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %pack tile_sizes [1, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %unpack into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
