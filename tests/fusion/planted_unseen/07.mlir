// producer: linalg.matmul
// consumer: linalg.add
// cause: indivisible-sizes
// step: transform.structured.pad
// repair: yes
// A layer of awkward extents.
func.func @layer(%x: tensor<100x200xf32>, %w: tensor<200x100xf32>, %bias: tensor<100x100xf32>) -> tensor<100x100xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<100x100xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<100x100xf32>) -> tensor<100x100xf32>
  %product = linalg.matmul ins(%x, %w : tensor<100x200xf32>, tensor<200x100xf32>) outs(%init : tensor<100x100xf32>) -> tensor<100x100xf32>
  %biased = linalg.add ins(%product, %bias : tensor<100x100xf32>, tensor<100x100xf32>) outs(%empty : tensor<100x100xf32>) -> tensor<100x100xf32>
  %tanh = linalg.tanh ins(%biased : tensor<100x100xf32>) outs(%empty : tensor<100x100xf32>) -> tensor<100x100xf32>
  return %tanh : tensor<100x100xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // Vectors of 16 want extents that are multiples of 16.
    %product = transform.structured.match ops{["linalg.matmul"]} in %func : (!transform.any_op) -> !transform.any_op
    %padded, %pad, %back = transform.structured.pad %product pad_to_multiple_of [16, 16, 8] {
        padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %tanh = transform.structured.match ops{["linalg.tanh"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %tanh tile_sizes [16, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
