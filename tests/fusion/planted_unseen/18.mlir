// producer: linalg.exp
// consumer: 15
// cause: wrong-order
// step: transform.structured.split_reduction
// repair: yes
// The logarithm of the sum of exponentials, by rows.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @logsumexp(%x: tensor<64x256xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<64x256xf32>
  %e1 = tensor.empty() : tensor<64xf32>
  %exp = linalg.exp ins(%x : tensor<64x256xf32>) outs(%e2 : tensor<64x256xf32>) -> tensor<64x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %log = linalg.log ins(%sum : tensor<64xf32>) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  return %log : tensor<64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    // Eight partial sums a row, to be vectorized later.
    %init, %fill, %partial, %combine = transform.structured.split_reduction %sum
      {split_factor = 8, insert_split_dimension = 1, inner_parallel}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_for %partial tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The exponentials are to be computed where they are added up.
    %exp_tile, %loop_1 = transform.structured.fuse_into_containing_op %exp into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
