// producer: linalg.generic
// consumer: linalg.matmul
// cause: indivisible-sizes
// step: transform.structured.tile_using_forall
// repair: yes
// Tokens of six sentences of 20: embedded and normalized, then all tokens in one matrix for a projection.
#id = affine_map<(b, t, c) -> (b, t, c)>
#ch = affine_map<(b, t, c) -> (c)>
func.func @project_tokens(%x: tensor<6x20x32xf32>, %shift: tensor<32xf32>, %weights: tensor<32x48xf32>) -> tensor<120x48xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<6x20x32xf32>
  %centered = linalg.generic {indexing_maps = [#id, #ch, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %shift : tensor<6x20x32xf32>, tensor<32xf32>) outs(%e0 : tensor<6x20x32xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %r = arith.subf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<6x20x32xf32>
  %tokens = tensor.collapse_shape %centered [[0, 1], [2]] : tensor<6x20x32xf32> into tensor<120x32xf32>
  %e1 = tensor.empty() : tensor<120x48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<120x48xf32>) -> tensor<120x48xf32>
  %projected = linalg.matmul ins(%tokens, %weights : tensor<120x32xf32>, tensor<32x48xf32>) outs(%init : tensor<120x48xf32>) -> tensor<120x48xf32>
  return %projected : tensor<120x48xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %centered = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %matmul tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.tensor.bubble_up_extract_slice
    } : !transform.any_op
    %centered_tile, %loop_1 = transform.structured.fuse_into_containing_op %centered into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
