// producer: linalg.matmul
// consumer: linalg.generic#0
// cause: several-uses
// step: transform.structured.fuse
// repair: yes
// A projection and its ReLU, and the largest magnitude of each row of the projection, for a scale of quantization; the caller keeps the projection too.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @forward(%x: tensor<48x36xf32>, %w: tensor<36x70xf32>) -> (tensor<48x70xf32>, tensor<48x70xf32>, tensor<48xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<48x70xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<48x70xf32>) -> tensor<48x70xf32>
  %h = linalg.matmul ins(%x, %w : tensor<48x36xf32>, tensor<36x70xf32>) outs(%init : tensor<48x70xf32>) -> tensor<48x70xf32>
  %e1 = tensor.empty() : tensor<48x70xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<48x70xf32>) outs(%e1 : tensor<48x70xf32>) attrs = {relu} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<48x70xf32>
  %e2 = tensor.empty() : tensor<48xf32>
  %low = linalg.fill ins(%zero : f32) outs(%e2 : tensor<48xf32>) -> tensor<48xf32>
  %most = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%h : tensor<48x70xf32>) outs(%low : tensor<48xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.absf %a : f32
    %r = arith.maximumf %m, %o : f32
    linalg.yield %r : f32
  } -> tensor<48xf32>
  return %h, %y, %most : tensor<48x70xf32>, tensor<48x70xf32>, tensor<48xf32>
}

// -----

// The ReLU by tiles, the product within: h is to be computed once, tile by tile.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.generic"]} attributes {relu} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %relu tile_sizes [8, 14]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
