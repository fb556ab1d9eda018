// producer: 15
// consumer: 17
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// A product in a packed layout; its result is unpacked, transposed for the next layer, and clipped.
func.func @packed_head(%lhs: tensor<8x16x8x8xf32>, %rhs: tensor<16x16x8x8xf32>, %zeros: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %pe = tensor.empty() : tensor<8x16x8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%pe : tensor<8x16x8x8xf32>) -> tensor<8x16x8x8xf32>
  %product = linalg.mmt4d ins(%lhs, %rhs : tensor<8x16x8x8xf32>, tensor<16x16x8x8xf32>) outs(%init : tensor<8x16x8x8xf32>) -> tensor<8x16x8x8xf32>
  %ue = tensor.empty() : tensor<64x128xf32>
  %plain = linalg.unpack %product inner_dims_pos = [0, 1] inner_tiles = [8, 8] into %ue : tensor<8x16x8x8xf32> -> tensor<64x128xf32>
  %te = tensor.empty() : tensor<128x64xf32>
  %turned = linalg.transpose ins(%plain : tensor<64x128xf32>) outs(%te : tensor<128x64xf32>) permutation = [1, 0]
  %re = tensor.empty() : tensor<128x64xf32>
  %relu = linalg.max ins(%turned, %zeros : tensor<128x64xf32>, tensor<128x64xf32>) outs(%re : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %relu : tensor<128x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence private @clean(%function: !transform.any_op {transform.readonly}) {
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.include @clean failures(propagate) (%function) : (!transform.any_op) -> ()
    %relu = transform.structured.match ops{["linalg.max"]} in %function : (!transform.any_op) -> !transform.any_op
    %turned = transform.structured.match ops{["linalg.transpose"]} in %function : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %relu tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The turned rows are to be made where they are clipped.
    %turned_tile, %loop_1 = transform.structured.fuse_into_containing_op %turned into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
