// producer: %powers
// consumer: %quotient
// cause: several-uses
// step: transform.structured.tile_using_for
// repair: yes
func.func @normalize(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<64x128xf32>
  %powers = linalg.exp ins(%x : tensor<64x128xf32>) outs(%e0 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %e1 = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64xf32>) -> tensor<64xf32>
  %total = linalg.reduce { arith.addf } ins(%powers : tensor<64x128xf32>) outs(%init : tensor<64xf32>) dimensions = [1]
  %e2 = tensor.empty() : tensor<64x128xf32>
  %quotient = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                              iterator_types = ["parallel", "parallel"]}
      ins(%powers, %total : tensor<64x128xf32>, tensor<64xf32>) outs(%e2 : tensor<64x128xf32>) {
  ^bb0(%p: f32, %t: f32, %o: f32):
    %q = arith.divf %p, %t : f32
    linalg.yield %q : f32
  } -> tensor<64x128xf32>
  return %quotient : tensor<64x128xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %div = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %div_t, %loop = transform.structured.tile_using_for %div tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %exp_t, %loop1 = transform.structured.fuse_into_containing_op %exp into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
