// producer: linalg.transpose
// consumer: linalg.pack
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// Weights are stored transposed; a microkernel wants them in panels of 16 columns.
func.func @panels(%weights: tensor<256x128xf32>, %scale: tensor<256x128xf32>) -> tensor<16x128x16x1xf32> {
  %empty = tensor.empty() : tensor<256x128xf32>
  %scaled = linalg.mul ins(%weights, %scale : tensor<256x128xf32>, tensor<256x128xf32>) outs(%empty : tensor<256x128xf32>) -> tensor<256x128xf32>
  %turned_empty = tensor.empty() : tensor<128x256xf32>
  %turned = linalg.transpose ins(%scaled : tensor<256x128xf32>) outs(%turned_empty : tensor<128x256xf32>) permutation = [1, 0]
  %panels_empty = tensor.empty() : tensor<16x128x16x1xf32>
  %panels = linalg.pack %turned outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 1] into %panels_empty
      : tensor<128x256xf32> -> tensor<16x128x16x1xf32>
  return %panels : tensor<16x128x16x1xf32>
}

// -----

// Pack by panels, and transpose and scale a panel at a time in the same loop.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @clean(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    transform.include @clean failures(propagate) (%root) : (!transform.any_op) -> ()
    %pack = transform.structured.match ops{["linalg.pack"]} in %root : (!transform.any_op) -> !transform.any_op
    %transpose = transform.structured.match ops{["linalg.transpose"]} in %root : (!transform.any_op) -> !transform.any_op
    %scaled = transform.structured.match ops{["linalg.mul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %pack tile_sizes [1, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %transpose_tile, %loop_1 = transform.structured.fuse_into_containing_op %transpose into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
