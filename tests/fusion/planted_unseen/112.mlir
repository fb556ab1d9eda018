// producer: 19
// consumer: 26
// cause: side-effects
// repair: no
// Pooled features go to a buffer that a driver shares; the driver is told, may change them, and a bias follows.
module {
  func.func private @driver_commit(memref<1x14x14x48xi32>, index)
  func.func @helper(%t: tensor<48xi32>) -> tensor<48xi32> {
    %e = tensor.empty() : tensor<48xi32>
    %r = linalg.copy ins(%t : tensor<48xi32>) outs(%e : tensor<48xi32>) -> tensor<48xi32>
    return %r : tensor<48xi32>
  }
  func.func @stage(%image: tensor<1x28x28x48xi32>, %shared: memref<1x14x14x48xi32>, %bias: tensor<48xi32>) -> tensor<1x14x14x48xi32> {
    %least = arith.constant -2147483648 : i32
    %id = arith.constant 3 : index
    %window = tensor.empty() : tensor<2x2xi32>
    %e = tensor.empty() : tensor<1x14x14x48xi32>
    %init = linalg.fill ins(%least : i32) outs(%e : tensor<1x14x14x48xi32>) -> tensor<1x14x14x48xi32>
    %pooled = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
        ins(%image, %window : tensor<1x28x28x48xi32>, tensor<2x2xi32>) outs(%init : tensor<1x14x14x48xi32>) -> tensor<1x14x14x48xi32>
    bufferization.materialize_in_destination %pooled in restrict writable %shared : (tensor<1x14x14x48xi32>, memref<1x14x14x48xi32>) -> ()
    func.call @driver_commit(%shared, %id) : (memref<1x14x14x48xi32>, index) -> ()
    %committed = bufferization.to_tensor %shared restrict : memref<1x14x14x48xi32> to tensor<1x14x14x48xi32>
    %e1 = tensor.empty() : tensor<1x14x14x48xi32>
    %wide = linalg.broadcast ins(%bias : tensor<48xi32>) outs(%e1 : tensor<1x14x14x48xi32>) dimensions = [0, 1, 2]
    %biased = linalg.add ins(%committed, %wide : tensor<1x14x14x48xi32>, tensor<1x14x14x48xi32>)
        outs(%e1 : tensor<1x14x14x48xi32>) -> tensor<1x14x14x48xi32>
    return %biased : tensor<1x14x14x48xi32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %biased = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    // Two rows of the image at a time; whatever feeds them follows.
    %tile, %loops:2 = transform.structured.fuse %biased tile_sizes [0, 2, 0, 16] {apply_cleanup}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
