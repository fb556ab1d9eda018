// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: map
// repair: no
// why: the elementwise fusion asks for a result map that is a permutation; this one is skewed
func.func @f(%x: tensor<8x8xf32>) -> tensor<15x8xf32> {
  %big = tensor.empty() : tensor<15x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i + j, i)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%big : tensor<15x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.exp %in : f32
    linalg.yield %s : f32
  } -> tensor<15x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<15x8xf32>) outs(%big : tensor<15x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = math.absf %in : f32
    linalg.yield %s : f32
  } -> tensor<15x8xf32>
  return %1 : tensor<15x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %after = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
