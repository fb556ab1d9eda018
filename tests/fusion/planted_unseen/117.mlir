// producer: linalg.batch_matmul
// consumer: linalg.generic
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// Attention scores, kept key-major: q * k^T, transposed, and the mask added.
func.func @scores(%q: tensor<3x20x32xf32>, %k: tensor<3x32x44xf32>, %mask: tensor<44x20xf32>) -> tensor<3x44x20xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x20x44xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x20x44xf32>) -> tensor<3x20x44xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<3x20x32xf32>, tensor<3x32x44xf32>) outs(%init : tensor<3x20x44xf32>) -> tensor<3x20x44xf32>
  %e1 = tensor.empty() : tensor<3x44x20xf32>
  %t = linalg.transpose ins(%s : tensor<3x20x44xf32>) outs(%e1 : tensor<3x44x20xf32>) permutation = [0, 2, 1]
  %e2 = tensor.empty() : tensor<3x44x20xf32>
  %masked = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (i, j)>, affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %mask : tensor<3x44x20xf32>, tensor<44x20xf32>) outs(%e2 : tensor<3x44x20xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %r = arith.addf %a, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x44x20xf32>
  return %masked : tensor<3x44x20xf32>
}

// -----

// One head at a time, 11 keys at a time; the scores within.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %masked = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %scores = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %scores[2] : (!transform.any_op) -> !transform.any_op
    %tile, %heads, %keys = transform.structured.tile_using_for %masked tile_sizes [1, 11]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %scores_tile, %l1 = transform.structured.fuse_into_containing_op %scores into %keys
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %l2 = transform.structured.fuse_into_containing_op %init into %l1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
