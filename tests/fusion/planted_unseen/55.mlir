// producer: 10
// consumer: 13
// cause: indivisible-sizes
// repair: yes
// A projection to 96 columns, read as 12 heads of 8, with a bias and a clamp by head; integers.
func.func @heads(%x: tensor<40x64xi32>, %w: tensor<64x96xi32>, %bias: tensor<12x8xi32>) -> tensor<40x12x8xi32> {
  %zero = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<40x96xi32>
  %init = linalg.fill ins(%zero : i32) outs(%e0 : tensor<40x96xi32>) -> tensor<40x96xi32>
  %proj = linalg.matmul {tag = "project"} ins(%x, %w : tensor<40x64xi32>, tensor<64x96xi32>) outs(%init : tensor<40x96xi32>) -> tensor<40x96xi32>
  %byhead = tensor.expand_shape %proj [[0], [1, 2]] output_shape [40, 12, 8] : tensor<40x96xi32> into tensor<40x12x8xi32>
  %e1 = tensor.empty() : tensor<40x12x8xi32>
  %clamped = linalg.generic {indexing_maps = [affine_map<(t, h, d) -> (t, h, d)>, affine_map<(t, h, d) -> (h, d)>, affine_map<(t, h, d) -> (t, h, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%byhead, %bias : tensor<40x12x8xi32>, tensor<12x8xi32>) outs(%e1 : tensor<40x12x8xi32>) attrs = {tag = "bias_clamp"} {
  ^bb0(%a: i32, %b: i32, %out: i32):
    %s = arith.addi %a, %b : i32
    %v = arith.maxsi %s, %zero : i32
    linalg.yield %v : i32
  } -> tensor<40x12x8xi32>
  return %clamped : tensor<40x12x8xi32>
}

// -----

// Tiles of two heads and four lanes; the slices move up through the expand_shape, so that the projection can follow.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %clamp = transform.structured.match attributes {tag = "bias_clamp"} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.tile_using_for %clamp tile_sizes [10, 2, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.tensor.bubble_up_extract_slice
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %project = transform.structured.match attributes {tag = "project"} in %root : (!transform.any_op) -> !transform.any_op
    %project_in, %loop = transform.structured.fuse_into_containing_op %project into %loops#2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
