// producer: 9
// consumer: 16
// cause: several-uses
// repair: yes
// A bf16 activation, widened, goes into the residual sum and is kept for the backward pass too.
#id = affine_map<(b, d, h, w, c) -> (b, d, h, w, c)>
func.func @residual(%x: tensor<?x4x16x16x32xbf16>, %skip: tensor<?x4x16x16x32xf32>, %n: index) -> (tensor<?x4x16x16x32xf32>, tensor<?x4x16x16x32xf32>) {
  %e0 = tensor.empty(%n) : tensor<?x4x16x16x32xf32>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x4x16x16x32xbf16>) outs(%e0 : tensor<?x4x16x16x32xf32>) attrs = {tag = "widen"} {
  ^bb0(%a: bf16, %out: f32):
    %v = arith.extf %a : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<?x4x16x16x32xf32>
  %e1 = tensor.empty(%n) : tensor<?x4x16x16x32xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%wide, %skip : tensor<?x4x16x16x32xf32>, tensor<?x4x16x16x32xf32>) outs(%e1 : tensor<?x4x16x16x32xf32>) attrs = {tag = "residual"} {
  ^bb0(%a: f32, %s: f32, %out: f32):
    %v = arith.addf %a, %s : f32
    linalg.yield %v : f32
  } -> tensor<?x4x16x16x32xf32>
  return %sum, %wide : tensor<?x4x16x16x32xf32>, tensor<?x4x16x16x32xf32>
}

// -----

// Elementwise ops become one; then a thread per batch and depth.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %clean = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.match ops{["linalg.generic"]} in %clean : (!transform.any_op) -> !transform.any_op
    transform.foreach %generics : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %tile, %grid = transform.structured.tile_using_forall %op tile_sizes [1, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
