// producer: 11
// consumer: 19
// cause: several-uses
// repair: yes
// A kernel matrix from distances, made symmetric: k = exp(-d), out = (k + k^T) / 2.
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
func.func @symmetric(%d: tensor<300x300xf32>) -> tensor<300x300xf32> {
  %half = arith.constant 0.5 : f32
  %k_empty = tensor.empty() : tensor<300x300xf32>
  %k = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<300x300xf32>) outs(%k_empty : tensor<300x300xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = arith.negf %x : f32
    %e = math.exp %n : f32
    linalg.yield %e : f32
  } -> tensor<300x300xf32>
  %out_empty = tensor.empty() : tensor<300x300xf32>
  %out = linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%k, %k : tensor<300x300xf32>, tensor<300x300xf32>) outs(%out_empty : tensor<300x300xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %h = arith.mulf %s, %half : f32
    linalg.yield %h : f32
  } -> tensor<300x300xf32>
  return %out : tensor<300x300xf32>
}

// -----

// Both passes over the matrix as one, in blocks.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func
      : (!transform.any_op) -> !transform.any_op
    %out = transform.structured.match ops{["linalg.generic"]} in %merged : (!transform.any_op) -> !transform.any_op
    transform.foreach %out : !transform.any_op {
    ^bb0(%one: !transform.any_op):
      %tile, %loops:2 = transform.structured.tile_using_for %one tile_sizes [30, 60]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
