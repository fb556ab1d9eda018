// producer: linalg.pooling_nhwc_max
// consumer: linalg.exp
// cause: side-effects
// repair: yes
// A max pooling and what follows it, on buffers.
func.func @pool(%image: memref<1x15x15x8xf32>, %out: memref<1x7x7x8xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %window = memref.alloca() : memref<3x3xf32>
  %pooled = memref.alloc() : memref<1x7x7x8xf32>
  linalg.fill ins(%low : f32) outs(%pooled : memref<1x7x7x8xf32>)
  linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%image, %window : memref<1x15x15x8xf32>, memref<3x3xf32>) outs(%pooled : memref<1x7x7x8xf32>)
  linalg.exp ins(%pooled : memref<1x7x7x8xf32>) outs(%out : memref<1x7x7x8xf32>)
  memref.dealloc %pooled : memref<1x7x7x8xf32>
  return
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %pool = transform.structured.match ops{["linalg.pooling_nhwc_max"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %exp tile_sizes [0, 1, 7] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %pool_tile, %loop_1 = transform.structured.fuse_into_containing_op %pool into %loops#1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
