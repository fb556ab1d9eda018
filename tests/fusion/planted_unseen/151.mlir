// producer: linalg.matmul
// consumer: linalg.add
// cause: indivisible-sizes
// step: transform.structured.pad
// repair: yes
// A layer with extents that nothing divides.
func.func @layer(%x: tensor<50x37xf32>, %w: tensor<37x70xf32>, %bias: tensor<50x70xf32>) -> tensor<50x70xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<50x70xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<50x70xf32>) -> tensor<50x70xf32>
  %product = linalg.matmul ins(%x, %w : tensor<50x37xf32>, tensor<37x70xf32>) outs(%init : tensor<50x70xf32>) -> tensor<50x70xf32>
  %sum = linalg.add ins(%product, %bias : tensor<50x70xf32>, tensor<50x70xf32>) outs(%empty : tensor<50x70xf32>) -> tensor<50x70xf32>
  return %sum : tensor<50x70xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %padded, %pads, %copy = transform.structured.pad %product pad_to_multiple_of [16, 16] {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1], copy_back_op = "none"} : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loops:2 = transform.structured.tile_using_for %sum tile_sizes [16, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %product_tile, %loop_1 = transform.structured.fuse_into_containing_op %padded into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
