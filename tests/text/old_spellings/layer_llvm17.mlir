// A layer and its schedule in one file, as LLVM 17 wrote them.
func.func @layer(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64x64xf32>,
                 %out: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %product = linalg.matmul ins(%x, %w: tensor<64x64xf32>, tensor<64x64xf32>)
                           outs(%out: tensor<64x64xf32>) -> tensor<64x64xf32>
  %sum = linalg.elemwise_binary { fun = #linalg.binary_fn<add> }
    ins(%product, %b : tensor<64x64xf32>, tensor<64x64xf32>)
    outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %zero = arith.constant 0.0 : f32
  // The scalar needs a map of its own.
  %relu = linalg.elemwise_binary { fun = #linalg.binary_fn<max_signed> }
    ins(%sum, %zero : tensor<64x64xf32>, f32)
    outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %relu : tensor<64x64xf32>
}

transform.sequence failures(propagate) {
^bb0(%root: !transform.any_op,
     %product: !transform.op<"linalg.matmul">,
     %both: !transform.op<"linalg.elemwise_binary">):
  // Two ops under one handle.
  %sum, %relu = transform.split_handle %both
      : (!transform.op<"linalg.elemwise_binary">)
      -> (!transform.any_op, !transform.any_op)
  %loop, %piece = transform.structured.tile_to_forall_op %relu tile_sizes [8, 32] // outer
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %sum_in, %loop_1 =
      transform.structured.fuse_into_containing_op %sum into %loop
        : (!transform.any_op, !transform.any_op)
          -> (!transform.any_op, !transform.any_op)
  %product_in, %loop_2 =
      transform.structured.fuse_into_containing_op %product into %loop
        : (!transform.op<"linalg.matmul">, !transform.any_op)
          -> (!transform.any_op, !transform.any_op)
  %inner, %sum_piece =
      transform.structured.tile_to_forall_op %sum_in tile_sizes [4, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  %product_piece, %inner_1 =
      transform.structured.fuse_into_containing_op %product_in into %inner
        : (!transform.any_op, !transform.any_op)
          -> (!transform.any_op, !transform.any_op)
  %target, %_ =
      transform.structured.tile_to_forall_op %sum_piece tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
  transform.structured.fuse_into_containing_op %product_piece
      into %target
        : (!transform.any_op, !transform.any_op)
          -> (!transform.any_op, !transform.any_op)
  %function, %call = transform.loop.outline %target {func_name = "kernel"}
      : (!transform.any_op) -> (!transform.any_op, !transform.op<"func.call">)
  //DEAD
  transform.yield
}
