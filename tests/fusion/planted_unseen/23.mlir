// producer: linalg.matmul
// consumer: linalg.add
// cause: indivisible-sizes
// step: transform.structured.pad
// repair: yes
// A fully connected layer with odd sizes.
func.func @layer(%x: tensor<100x60xf32>, %w: tensor<60x50xf32>, %bias: tensor<100x50xf32>) -> tensor<100x50xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x50xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<100x50xf32>) -> tensor<100x50xf32>
  %product = linalg.matmul ins(%x, %w : tensor<100x60xf32>, tensor<60x50xf32>) outs(%init : tensor<100x50xf32>) -> tensor<100x50xf32>
  %sum = linalg.add ins(%product, %bias : tensor<100x50xf32>, tensor<100x50xf32>) outs(%e : tensor<100x50xf32>) -> tensor<100x50xf32>
  return %sum : tensor<100x50xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.add"]} in %function : (!transform.any_op) -> !transform.any_op
    // Whole tiles of 16x16 only.
    %padded, %pad, %copy = transform.structured.pad %sum pad_to_multiple_of [16, 16] {
      padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1],
      nofold_flags = [1, 1, 1], copy_back_op = "none"
    } : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.alternatives %function : !transform.any_op {
    ^bb0(%f: !transform.any_op):
      %s = transform.structured.match ops{["linalg.add"]} in %f : (!transform.any_op) -> !transform.any_op
      %m = transform.structured.match ops{["linalg.matmul"]} in %f : (!transform.any_op) -> !transform.any_op
      %tile, %loops:2 = transform.structured.tile_using_for %s tile_sizes [16, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
      %m_tile, %loop = transform.structured.fuse_into_containing_op %m into %loops#1
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }, {
    ^bb0(%f: !transform.any_op):
      // At least the loops, if it cannot be had.
      %ops = transform.structured.match ops{["linalg.add", "linalg.matmul"]} in %f : (!transform.any_op) -> !transform.any_op
      %tile, %loops:2 = transform.structured.tile_using_for %ops tile_sizes [16, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}
