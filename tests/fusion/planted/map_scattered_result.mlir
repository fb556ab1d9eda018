// producer: linalg.generic
// consumer: linalg.exp
// cause: map
// repair: no
// why: the result of the producer is written at i + j: a tile of it is no tile of the loops
func.func @f(%x: tensor<8x8xf32>) -> tensor<15xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<15xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<15xf32>) -> tensor<15xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i + j)>], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<8x8xf32>) outs(%init : tensor<15xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<15xf32>
  %1 = linalg.exp ins(%0 : tensor<15xf32>) outs(%e : tensor<15xf32>) -> tensor<15xf32>
  return %1 : tensor<15xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %producer = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %consumer = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %consumer tile_sizes [5] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %producer into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
