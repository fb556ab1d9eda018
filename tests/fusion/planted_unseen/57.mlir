// producer: 14
// consumer: 20
// cause: map
// repair: no
// Overlap-add: frames of 64 samples, a hop of 16, are summed into a signal, which is then divided by the window's weight.
#in  = affine_map<(b, t, k) -> (b, t, k)>
#add = affine_map<(b, t, k) -> (b, t * 16 + k)>
#id = affine_map<(b, s) -> (b, s)>
#win = affine_map<(b, s) -> (s)>
func.func @overlap_add(%frames: tensor<6x61x64xf64>, %weight: tensor<1024xf64>) -> tensor<6x1024xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<6x1024xf64>
  %init = linalg.fill ins(%zero : f64) outs(%e : tensor<6x1024xf64>) -> tensor<6x1024xf64>
  %signal = linalg.generic {indexing_maps = [#in, #add], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%frames : tensor<6x61x64xf64>) outs(%init : tensor<6x1024xf64>) attrs = {tag = "overlap"} {
  ^bb0(%a: f64, %acc: f64):
    %v = arith.addf %a, %acc : f64
    linalg.yield %v : f64
  } -> tensor<6x1024xf64>
  %normal = linalg.generic {indexing_maps = [#id, #win, #id], iterator_types = ["parallel", "parallel"]}
      ins(%signal, %weight : tensor<6x1024xf64>, tensor<1024xf64>) outs(%e : tensor<6x1024xf64>) attrs = {tag = "normalize"} {
  ^bb0(%a: f64, %w: f64, %out: f64):
    %v = arith.divf %a, %w : f64
    linalg.yield %v : f64
  } -> tensor<6x1024xf64>
  return %normal : tensor<6x1024xf64>
}

// -----

// A signal at a time, 128 samples of it, with everything that feeds them.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %norm = transform.structured.match attributes {tag = "normalize"} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %norm tile_sizes [1, 128] interchange [1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %func = transform.get_parent_op %loops#0 {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_dce to %func : !transform.any_op
    transform.yield
  }
}
