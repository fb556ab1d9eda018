// producer: %product
// consumer: %halved
// cause: map
// repair: no
// Product of two polynomials, then half of every coefficient.
func.func @poly(%p: tensor<48xf32>, %q: tensor<17xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e0 = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64xf32>) -> tensor<64xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i + j)>],
                             iterator_types = ["reduction", "reduction"], name = "poly"}
      ins(%p, %q : tensor<48xf32>, tensor<17xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %e1 = tensor.empty() : tensor<64xf32>
  %halved = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"], name = "half"}
      ins(%product : tensor<64xf32>) outs(%e1 : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %half : f32
    linalg.yield %m : f32
  } -> tensor<64xf32>
  return %halved : tensor<64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %half = transform.structured.match ops{["linalg.generic"]} attributes {name = "half"} in %root : (!transform.any_op) -> !transform.any_op
    %half_t, %loop = transform.structured.fuse %half tile_sizes [16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
