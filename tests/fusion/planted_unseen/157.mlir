// producer: linalg.batch_matvec
// consumer: linalg.generic
// cause: dead-handle
// step: transform.structured.generalize
// repair: yes
// A GELU (by tanh, without the cube) of a batched matrix-vector product.
#id = affine_map<(b, m) -> (b, m)>
func.func @gelu(%w: tensor<?x40x26xf32>, %x: tensor<?x26xf32>) -> tensor<?x40xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %b = tensor.dim %w, %c0 : tensor<?x40x26xf32>
  %empty = tensor.empty(%b) : tensor<?x40xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x40xf32>) -> tensor<?x40xf32>
  %product = linalg.batch_matvec ins(%w, %x : tensor<?x40x26xf32>, tensor<?x26xf32>) outs(%init : tensor<?x40xf32>) -> tensor<?x40xf32>
  %gelu = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<?x40xf32>) outs(%empty : tensor<?x40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    %p = arith.addf %t, %one : f32
    %h = arith.mulf %a, %half : f32
    %g = arith.mulf %p, %h : f32
    linalg.yield %g : f32
  } -> tensor<?x40xf32>
  return %gelu : tensor<?x40xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %gelu = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["linalg.batch_matvec"]} in %root : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %product[2] : (!transform.any_op) -> !transform.any_op
    %product_generic = transform.structured.generalize %product : (!transform.any_op) -> !transform.any_op
    %turned = transform.structured.interchange %product_generic iterator_interchange = [0, 2, 1] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %gelu tile_sizes [1, 20] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product_tile, %loop_1 = transform.structured.fuse_into_containing_op %product into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %loop_2 = transform.structured.fuse_into_containing_op %init into %loop_1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
