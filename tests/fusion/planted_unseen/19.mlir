// producer: 13
// consumer: 14
// cause: several-uses
// step: transform.structured.tile_using_for
// repair: yes
// A product of batches, its scaled exponential, and the product itself, which the backward pass wants.
#id = affine_map<(b, i, j) -> (b, i, j)>
func.func @scores(%q: tensor<4x32x16xf32>, %k: tensor<4x16x32xf32>) -> (tensor<4x32x32xf32>, tensor<4x32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32
  %empty = tensor.empty() : tensor<4x32x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
  %product = linalg.batch_matmul ins(%q, %k : tensor<4x32x16xf32>, tensor<4x16x32xf32>) outs(%init : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
  %weights = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%product : tensor<4x32x32xf32>) outs(%empty : tensor<4x32x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.mulf %x, %scale : f32
    %e = math.exp %s : f32
    linalg.yield %e : f32
  } -> tensor<4x32x32xf32>
  return %weights, %product : tensor<4x32x32xf32>, tensor<4x32x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %weights = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %function = transform.get_parent_op %weights {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %product = transform.get_producer_of_operand %weights[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %weights tile_sizes [1, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %product_tile, %loop_1 = transform.structured.fuse_into_containing_op %product into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %reduced, %k_loop = transform.structured.tile_using_for %product_tile tile_sizes [0, 0, 0, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
