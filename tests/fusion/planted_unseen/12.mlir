// producer: linalg.batch_matmul
// consumer: linalg.mul
// cause: wrong-order
// step: transform.loop.outline
// repair: yes
// Scores of four heads, scaled and masked.
func.func @scores(%q: tensor<4x64x32xf32>, %k: tensor<4x32x64xf32>, %scale: tensor<4x64x64xf32>, %mask: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %raw = linalg.batch_matmul ins(%q, %k : tensor<4x64x32xf32>, tensor<4x32x64xf32>) outs(%init : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %scaled = linalg.mul ins(%raw, %scale : tensor<4x64x64xf32>, tensor<4x64x64xf32>) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %masked = linalg.add ins(%scaled, %mask : tensor<4x64x64xf32>, tensor<4x64x64xf32>) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %masked : tensor<4x64x64xf32>
}

// -----

// The product by heads, in a function of its own; then the rest by heads, with what it is computed from.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %head, %heads:2 = transform.structured.tile_using_for %product tile_sizes [1, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %kernel, %call = transform.loop.outline %heads#0 {func_name = "product_by_heads"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %kernel : !transform.any_op
    %caller = transform.get_parent_op %call {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %caller {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %masked = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %scaled = transform.get_producer_of_operand %masked[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %masked tile_sizes [1, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %scaled_tile, %loop_1 = transform.structured.fuse_into_containing_op %scaled into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %func = transform.get_parent_op %loop_1 {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
