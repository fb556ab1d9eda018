// producer: linalg.generic#0
// consumer: linalg.generic#2
// cause: several-uses
// step: transform.apply_registered_pass
// repair: yes
// The middle of a layer norm: centered, its variance by rows, and the normalised rows.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @norm(%x: tensor<50x96xf32>, %mean: tensor<50xf32>) -> tensor<50x96xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 96.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e0 = tensor.empty() : tensor<50x96xf32>
  %centered = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean : tensor<50x96xf32>, tensor<50xf32>) outs(%e0 : tensor<50x96xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  } -> tensor<50x96xf32>
  %e1 = tensor.empty() : tensor<50xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<50xf32>) -> tensor<50xf32>
  %variance = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%centered : tensor<50x96xf32>) outs(%init : tensor<50xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<50xf32>
  %e2 = tensor.empty() : tensor<50x96xf32>
  %normal = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%centered, %variance : tensor<50x96xf32>, tensor<50xf32>) outs(%e2 : tensor<50x96xf32>) attrs = {normal} {
  ^bb0(%a: f32, %v: f32, %o: f32):
    %w = arith.divf %v, %count : f32
    %g = arith.addf %w, %eps : f32
    %r = math.rsqrt %g : f32
    %s = arith.mulf %a, %r : f32
    linalg.yield %s : f32
  } -> tensor<50x96xf32>
  return %normal : tensor<50x96xf32>
}

// -----

// Merge what is elementwise: the subtraction of the mean goes into the last op. Then rows of 8.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    %normal = transform.structured.match ops{["linalg.generic"]} attributes {normal} in %fused : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %normal tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
