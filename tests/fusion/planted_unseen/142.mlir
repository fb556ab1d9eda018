// producer: linalg.batch_matmul
// consumer: linalg.generic
// cause: empty-handle
// step: transform.structured.match
// repair: yes
// A gated product: four products of a batch, one gate for all.
#id = affine_map<(b, i, j) -> (b, i, j)>
#gate = affine_map<(b, i, j) -> (b, j)>
func.func @gated_heads(%x: tensor<4x33x21xf32>, %w: tensor<4x21x26xf32>, %gate: tensor<4x26xf32>) -> tensor<4x33x26xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x33x26xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x33x26xf32>) -> tensor<4x33x26xf32>
  %heads = linalg.batch_matmul ins(%x, %w : tensor<4x33x21xf32>, tensor<4x21x26xf32>) outs(%init : tensor<4x33x26xf32>) -> tensor<4x33x26xf32>
  %gated = linalg.generic {indexing_maps = [#id, #gate, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%heads, %gate : tensor<4x33x26xf32>, tensor<4x26xf32>) outs(%e : tensor<4x33x26xf32>) {
  ^bb0(%a: f32, %g: f32, %o: f32):
    %r = arith.mulf %a, %g : f32
    linalg.yield %r : f32
  } -> tensor<4x33x26xf32>
  return %gated : tensor<4x33x26xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %gated = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %heads = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %gated tile_sizes [1, 11]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %heads_tile, %loop_1 = transform.structured.fuse_into_containing_op %heads into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
