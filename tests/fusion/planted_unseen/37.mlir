// producer: %wide
// consumer: 21
// cause: folded-transpose
// step: transform.apply_patterns
// repair: yes
// Weights in i8, kept as (inputs, outputs): made f32, transposed, and packed for mmt4d.
func.func @packed_weights(%lhs: tensor<4x16x8x4xf32>, %weights: tensor<64x128xi8>) -> tensor<4x16x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %wide_empty = tensor.empty() : tensor<64x128xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%weights : tensor<64x128xi8>) outs(%wide_empty : tensor<64x128xf32>) {
  ^bb0(%w: i8, %out: f32):
    %f = arith.sitofp %w : i8 to f32
    %s = arith.mulf %f, %scale : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %transposed_empty = tensor.empty() : tensor<128x64xf32>
  %transposed = linalg.transpose ins(%wide : tensor<64x128xf32>) outs(%transposed_empty : tensor<128x64xf32>) permutation = [1, 0]
  %packed_empty = tensor.empty() : tensor<16x16x8x4xf32>
  %packed = linalg.pack %transposed inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %packed_empty : tensor<128x64xf32> -> tensor<16x16x8x4xf32>
  %product_empty = tensor.empty() : tensor<4x16x8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%product_empty : tensor<4x16x8x8xf32>) -> tensor<4x16x8x8xf32>
  %product = linalg.mmt4d ins(%lhs, %packed : tensor<4x16x8x4xf32>, tensor<16x16x8x4xf32>) outs(%init : tensor<4x16x8x8xf32>) -> tensor<4x16x8x8xf32>
  return %product : tensor<4x16x8x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // Tidy up first.
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    %pack = transform.structured.match ops{["linalg.pack"]} in %function : (!transform.any_op) -> !transform.any_op
    %transpose = transform.get_producer_of_operand %pack[0] : (!transform.any_op) -> !transform.any_op
    %wide = transform.get_producer_of_operand %transpose[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %pack tile_sizes [4, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %transpose_tile, %loop_1 = transform.structured.fuse_into_containing_op %transpose into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %wide_tile, %loop_2 = transform.structured.fuse_into_containing_op %wide into %loop_1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
