// producer: linalg.generic#1
// consumer: linalg.generic#2
// cause: reduction
// step: transform.apply_registered_pass
// repair: yes
// Rows divided by their length.
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @normalize(%x: tensor<96x384xf32>) -> tensor<96x384xf32> {
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : tensor<96xf32>
  %matrix = tensor.empty() : tensor<96x384xf32>
  %squares = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<96x384xf32>) outs(%matrix : tensor<96x384xf32>) {
  ^bb0(%a: f32, %out: f32):
    %v = arith.mulf %a, %a : f32
    linalg.yield %v : f32
  } -> tensor<96x384xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<96xf32>) -> tensor<96xf32>
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%squares : tensor<96x384xf32>) outs(%init : tensor<96xf32>) {
  ^bb0(%a: f32, %out: f32):
    %v = arith.addf %out, %a : f32
    linalg.yield %v : f32
  } -> tensor<96xf32>
  %unit = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sums : tensor<96x384xf32>, tensor<96xf32>) outs(%matrix : tensor<96x384xf32>) {
  ^bb0(%a: f32, %s: f32, %out: f32):
    %r = math.rsqrt %s : f32
    %v = arith.mulf %a, %r : f32
    linalg.yield %v : f32
  } -> tensor<96x384xf32>
  return %unit : tensor<96x384xf32>
}

// -----

// Make one op of all, then loops of it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %ops = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    transform.foreach %ops : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %loop = transform.structured.tile_using_for %each tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
