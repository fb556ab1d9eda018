// producer: 8
// consumer: 11
// cause: folded-transpose
// repair: yes
// An image for a blocked convolution: channels last to channels first (as the framework wants it), and from there to blocks of 16.
func.func @to_blocks(%image: tensor<2x56x56x64xf16>) -> tensor<2x4x56x56x16xf16> {
  %nchw_empty = tensor.empty() : tensor<2x64x56x56xf16>
  %nchw = linalg.transpose ins(%image : tensor<2x56x56x64xf16>) outs(%nchw_empty : tensor<2x64x56x56xf16>)
      permutation = [0, 3, 1, 2]
  %blocks_empty = tensor.empty() : tensor<2x4x56x56x16xf16>
  %blocks = linalg.pack %nchw inner_dims_pos = [1] inner_tiles = [16] into %blocks_empty
      : tensor<2x64x56x56xf16> -> tensor<2x4x56x56x16xf16>
  return %blocks : tensor<2x4x56x56x16xf16>
}

// -----

// Clean up, tile the blocked layout by rows of pixels, and compute the channels-first copy inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %nchw = transform.structured.match ops{["linalg.transpose"]} in %func : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    %blocks = transform.structured.match ops{["linalg.pack"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %blocks tile_sizes [1, 1, 8, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %nchw_in, %loop_1 = transform.structured.fuse_into_containing_op %nchw into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
