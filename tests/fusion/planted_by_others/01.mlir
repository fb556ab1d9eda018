// producer: linalg.matmul
// consumer: linalg.generic#0
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
func.func @dense(%x: tensor<96x64xf32>, %w: tensor<64x80xf32>, %b: tensor<80xf32>) -> tensor<96x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<96x80xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<96x80xf32>) -> tensor<96x80xf32>
  %product = linalg.matmul ins(%x, %w : tensor<96x64xf32>, tensor<64x80xf32>) outs(%init : tensor<96x80xf32>) -> tensor<96x80xf32>
  %e1 = tensor.empty() : tensor<96x80xf32>
  %biased = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                            iterator_types = ["parallel", "parallel"], role = "bias"}
      ins(%product, %b : tensor<96x80xf32>, tensor<80xf32>) outs(%e1 : tensor<96x80xf32>) {
  ^bb0(%p: f32, %c: f32, %o: f32):
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  } -> tensor<96x80xf32>
  %e2 = tensor.empty() : tensor<96x80xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                            iterator_types = ["parallel", "parallel"], role = "relu"}
      ins(%biased : tensor<96x80xf32>) outs(%e2 : tensor<96x80xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<96x80xf32>
  return %result : tensor<96x80xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %mm = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %bias = transform.structured.match ops{["linalg.generic"]} attributes {role = "bias"} in %root : (!transform.any_op) -> !transform.any_op
    %relu = transform.structured.match ops{["linalg.generic"]} attributes {role = "relu"} in %root : (!transform.any_op) -> !transform.any_op
    %relu_t, %loop = transform.structured.tile_using_forall %relu tile_sizes [16, 20] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %mm_t, %loop1 = transform.structured.fuse_into_containing_op %mm into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bias_t, %loop2 = transform.structured.fuse_into_containing_op %bias into %loop1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
