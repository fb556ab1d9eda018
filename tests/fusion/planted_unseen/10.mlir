// producer: linalg.generic
// consumer: linalg.max
// cause: map
// repair: no
// A transposed convolution of stride 2 that adds what each pixel gives to the wider image, and a leaky relu.
#give = affine_map<(w, k, c, f) -> (w, c)>
#filter = affine_map<(w, k, c, f) -> (k, c, f)>
#wider = affine_map<(w, k, c, f) -> (w * 2 + k, f)>
func.func @upsample(%signal: tensor<64x8xf32>, %filter: tensor<4x8x16xf32>, %slope: tensor<130x16xf32>) -> tensor<130x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<130x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<130x16xf32>) -> tensor<130x16xf32>
  %wide = linalg.generic {indexing_maps = [#give, #filter, #wider], iterator_types = ["reduction", "reduction", "reduction", "parallel"]}
      ins(%signal, %filter : tensor<64x8xf32>, tensor<4x8x16xf32>) outs(%init : tensor<130x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<130x16xf32>
  %low = linalg.mul ins(%wide, %slope : tensor<130x16xf32>, tensor<130x16xf32>) outs(%empty : tensor<130x16xf32>) -> tensor<130x16xf32>
  %leaky = linalg.max ins(%wide, %low : tensor<130x16xf32>, tensor<130x16xf32>) outs(%empty : tensor<130x16xf32>) -> tensor<130x16xf32>
  return %leaky : tensor<130x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %leaky = transform.structured.match ops{["linalg.max"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %leaky tile_sizes [10, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_patterns to %func {
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.scf.for_loop_canonicalization
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %inside = transform.structured.match interface{LinalgOp} in %loops#0 : (!transform.any_op) -> !transform.any_op
    transform.annotate %inside "inside" : !transform.any_op
    transform.yield
  }
}
