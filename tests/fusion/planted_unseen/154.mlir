// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: map
// repair: yes
// A softmax's first half as a converter writes it, with kept dimensions: exp(x - max over a row).
#id = affine_map<(m, n) -> (m, n)>
#kept = affine_map<(m, n) -> (m, 0)>
func.func @softmax_head(%x: tensor<60x75xf32>) -> tensor<60x75xf32> {
  %low = arith.constant -3.40282347E+38 : f32
  %empty_row = tensor.empty() : tensor<60x1xf32>
  %empty = tensor.empty() : tensor<60x75xf32>
  %start = linalg.fill ins(%low : f32) outs(%empty_row : tensor<60x1xf32>) -> tensor<60x1xf32>
  %max = linalg.generic {indexing_maps = [#id, #kept], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<60x75xf32>) outs(%start : tensor<60x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %o : f32
    linalg.yield %m : f32
  } -> tensor<60x1xf32>
  %exp = linalg.generic {indexing_maps = [#id, #kept, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %max : tensor<60x75xf32>, tensor<60x1xf32>) outs(%empty : tensor<60x75xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %e = math.exp %d : f32
    linalg.yield %e : f32
  } -> tensor<60x75xf32>
  return %exp : tensor<60x75xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %generics = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %max, %exp = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.fuse %exp tile_sizes [12] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
