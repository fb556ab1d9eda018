// producer: linalg.matmul
// consumer: linalg.generic
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// A dense layer with bias and tanh, batch of 60.
func.func @dense_tanh(%x: tensor<60x48xf32>, %w: tensor<48x84xf32>, %b: tensor<84xf32>) -> tensor<60x84xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<60x84xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<60x84xf32>) -> tensor<60x84xf32>
  %h = linalg.matmul ins(%x, %w : tensor<60x48xf32>, tensor<48x84xf32>) outs(%init : tensor<60x84xf32>) -> tensor<60x84xf32>
  %e1 = tensor.empty() : tensor<60x84xf32>
  %biased = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%h, %b : tensor<60x84xf32>, tensor<84xf32>) outs(%e1 : tensor<60x84xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<60x84xf32>
  %e2 = tensor.empty() : tensor<60x84xf32>
  %y = linalg.tanh ins(%biased : tensor<60x84xf32>) outs(%e2 : tensor<60x84xf32>) -> tensor<60x84xf32>
  return %y : tensor<60x84xf32>
}

// -----

// Tile the tanh, compute the bias and the product a tile at a time.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %tanh = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %bias = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %tanh tile_sizes [12, 28]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %matmul_tile, %l1 = transform.structured.fuse_into_containing_op %matmul into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bias_tile, %l2 = transform.structured.fuse_into_containing_op %bias into %l1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
