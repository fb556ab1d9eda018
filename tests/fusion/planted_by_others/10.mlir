// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: map
// repair: yes
// Mean of each row with keepdims, taken off the row.
func.func @center(%x: tensor<40x96xf32>) -> tensor<40x96xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 96.0 : f32
  %e0 = tensor.empty() : tensor<40x1xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<40x1xf32>) -> tensor<40x1xf32>
  %total = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>],
                           iterator_types = ["parallel", "reduction"], stage = "sum"}
      ins(%x : tensor<40x96xf32>) outs(%init : tensor<40x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<40x1xf32>
  %e1 = tensor.empty() : tensor<40x96xf32>
  %centered = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>],
                              iterator_types = ["parallel", "parallel"], stage = "center"}
      ins(%x, %total : tensor<40x96xf32>, tensor<40x1xf32>) outs(%e1 : tensor<40x96xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %m = arith.divf %t, %count : f32
    %d = arith.subf %a, %m : f32
    linalg.yield %d : f32
  } -> tensor<40x96xf32>
  return %centered : tensor<40x96xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %center = transform.structured.match ops{["linalg.generic"]} attributes {stage = "center"} in %root : (!transform.any_op) -> !transform.any_op
    %center_t, %loop = transform.structured.fuse %center tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
