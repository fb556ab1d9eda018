// producer: %lhs_pack
// consumer: linalg.matmul
// cause: indivisible-sizes
// step: transform.structured.tile_using_for
// repair: yes
// A product whose left side is an activation.
func.func @product(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %product = linalg.matmul ins(%x, %w : tensor<64x32xf32>, tensor<32x64xf32>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %product : tensor<64x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.op<"linalg.matmul">
    %packed = transform.structured.pack %product packed_sizes = [16, 16, 8]
      : (!transform.op<"linalg.matmul">) -> !transform.op<"linalg.generic">
    %lhs_pack = transform.get_producer_of_operand %packed[0] : (!transform.op<"linalg.generic">) -> !transform.any_op
    // Outer rows, outer columns, outer k, then a register's worth of inner rows.
    %tile, %loops:3 = transform.structured.tile_using_for %packed tile_sizes [1, 1, 0, 4]
      : (!transform.op<"linalg.generic">) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    // The left side is to be packed a panel at a time.
    %pack_tile, %loop_1 = transform.structured.fuse_into_containing_op %lhs_pack into %loops#2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
