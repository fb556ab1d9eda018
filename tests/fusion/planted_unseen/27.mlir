// producer: linalg.tanh
// consumer: linalg.matmul
// cause: outside-the-loop
// repair: yes
// A small network as a front end prints it: a function a layer.
func.func private @activate(%x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %e = tensor.empty() : tensor<64x96xf32>
  %a = linalg.tanh ins(%x : tensor<64x96xf32>) outs(%e : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %a : tensor<64x96xf32>
}
func.func @main(%x: tensor<64x96xf32>, %w: tensor<96x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %hidden = call @activate(%x) : (tensor<64x96xf32>) -> tensor<64x96xf32>
  %e = tensor.empty() : tensor<64x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %out = linalg.matmul ins(%hidden, %w : tensor<64x96xf32>, tensor<96x32xf32>) outs(%init : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %out : tensor<64x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %out = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %rows = transform.param.constant 8 : i64 -> !transform.param<i64>
    %tile, %loop = transform.structured.tile_using_forall %out tile_sizes [%rows]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %hidden = transform.structured.match ops{["linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    // Activate only the rows that the product is about to read.
    %hidden_tile, %loop_1 = transform.structured.fuse_into_containing_op %hidden into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %init_tile, %loop_2 = transform.structured.fuse_into_containing_op %init into %loop_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
