// producer: linalg.generic
// consumer: linalg.pooling_nhwc_max
// cause: indivisible-sizes
// repair: yes
// Bias and ReLU of a 16x32 image, then the highest of each window of 2x2.
func.func @pool(%image: tensor<1x16x32x24xf32>, %bias: tensor<24xf32>) -> tensor<1x8x16x24xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %relu_empty = tensor.empty() : tensor<1x16x32x24xf32>
  %relu = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%image, %bias : tensor<1x16x32x24xf32>, tensor<24xf32>) outs(%relu_empty : tensor<1x16x32x24xf32>) {
    ^bb0(%x: f32, %b: f32, %o: f32):
      %s = arith.addf %x, %b : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
  } -> tensor<1x16x32x24xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %pool_empty = tensor.empty() : tensor<1x8x16x24xf32>
  %pool_init = linalg.fill ins(%lowest : f32) outs(%pool_empty : tensor<1x8x16x24xf32>) -> tensor<1x8x16x24xf32>
  %pool = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%relu, %window : tensor<1x16x32x24xf32>, tensor<2x2xf32>)
    outs(%pool_init : tensor<1x8x16x24xf32>) -> tensor<1x8x16x24xf32>
  return %pool : tensor<1x8x16x24xf32>
}

// -----

// The image has 16 rows: two threads, 8 rows each; bias and ReLU of these rows with them.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %pool = transform.structured.match ops{["linalg.pooling_nhwc_max"]} in %root : (!transform.any_op) -> !transform.any_op
    %relu = transform.get_producer_of_operand %pool[0] : (!transform.any_op) -> !transform.any_op
    %init = transform.get_producer_of_operand %pool[2] : (!transform.any_op) -> !transform.any_op
    %rows, %threads = transform.structured.tile_using_forall %pool tile_sizes [0, 8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %func = transform.get_parent_op %threads {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %relu_rows, %threads_1 = transform.structured.fuse_into_containing_op %relu into %threads
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_rows, %threads_2 = transform.structured.fuse_into_containing_op %init into %threads_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %row, %row_loop = transform.structured.tile_using_for %rows tile_sizes [0, 1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
