// producer: linalg.transpose
// consumer: linalg.pack#1
// cause: folded-transpose
// repair: yes
// Weights are turned and packed for a product of tiles; the turned weights go out as well (a backward pass reads them).
func.func @packed_layer(%x: tensor<24x60xf32>, %weights: tensor<60x40xf32>) -> (tensor<3x5x8x8xf32>, tensor<40x60xf32>) {
  %zero = arith.constant 0.0 : f32
  %et = tensor.empty() : tensor<40x60xf32>
  %turned = linalg.transpose ins(%weights : tensor<60x40xf32>) outs(%et : tensor<40x60xf32>) permutation = [1, 0]
  %el = tensor.empty() : tensor<3x15x8x4xf32>
  %lhs = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %el : tensor<24x60xf32> -> tensor<3x15x8x4xf32>
  %er = tensor.empty() : tensor<5x15x8x4xf32>
  %rhs = linalg.pack %turned inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %er : tensor<40x60xf32> -> tensor<5x15x8x4xf32>
  %ep = tensor.empty() : tensor<3x5x8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%ep : tensor<3x5x8x8xf32>) -> tensor<3x5x8x8xf32>
  %product = linalg.mmt4d ins(%lhs, %rhs : tensor<3x15x8x4xf32>, tensor<5x15x8x4xf32>) outs(%init : tensor<3x5x8x8xf32>) -> tensor<3x5x8x8xf32>
  return %product, %turned : tensor<3x5x8x8xf32>, tensor<40x60xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.fold_into_pack_and_unpack
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %product = transform.structured.match ops{["linalg.mmt4d"]} in %function : (!transform.any_op) -> !transform.any_op
    %pack = transform.get_producer_of_operand %product[1] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %pack tile_sizes [1, 5] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
