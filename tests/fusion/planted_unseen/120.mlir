// producer: linalg.generic
// consumer: linalg.matmul
// cause: indivisible-sizes
// step: transform.structured.pad
// repair: yes
// A ReLU and a product of 50 rows.
func.func @relu_product(%x: tensor<50x40xf32>, %w: tensor<40x64xf32>) -> tensor<50x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<50x40xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<50x40xf32>) outs(%e0 : tensor<50x40xf32>) attrs = {relu} {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<50x40xf32>
  %e1 = tensor.empty() : tensor<50x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<50x64xf32>) -> tensor<50x64xf32>
  %p = linalg.matmul ins(%r, %w : tensor<50x40xf32>, tensor<40x64xf32>) outs(%init : tensor<50x64xf32>) -> tensor<50x64xf32>
  return %p : tensor<50x64xf32>
}

// -----

// Whole tiles of rows by padding; the ReLU within the loop over them.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %p = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %relu = transform.get_producer_of_operand %p[0] : (!transform.any_op) -> !transform.any_op
    %padded, %pad, %copy = transform.structured.pad %p pad_to_multiple_of [16] {padding_dimensions = [0], padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_for %padded tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %relu_tile, %both = transform.structured.fuse_into_containing_op %relu into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
