// producer: 12
// consumer: 16
// cause: empty-handle
// repair: yes
// Two layers, told apart by an attribute; the second has a pooling over what the first makes.
module {
  func.func @encoder(%x: tensor<3x10x66xf16>, %w: tensor<3x66x40xf16>) -> tensor<3x5x40xf16> {
    %zero = arith.constant 0.0 : f16
    %low = arith.constant -6.5504e+04 : f16
    %e0 = tensor.empty() : tensor<3x10x40xf16>
    %i0 = linalg.fill ins(%zero : f16) outs(%e0 : tensor<3x10x40xf16>) -> tensor<3x10x40xf16>
    %p = linalg.batch_matmul {layer = 1 : i64, tag = "mix"} ins(%x, %w : tensor<3x10x66xf16>, tensor<3x66x40xf16>) outs(%i0 : tensor<3x10x40xf16>) -> tensor<3x10x40xf16>
    %window = tensor.empty() : tensor<2xf16>
    %e1 = tensor.empty() : tensor<3x5x40xf16>
    %i1 = linalg.fill ins(%low : f16) outs(%e1 : tensor<3x5x40xf16>) -> tensor<3x5x40xf16>
    %r = linalg.pooling_nwc_max {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>, layer = 2 : i64, tag = "halve"}
        ins(%p, %window : tensor<3x10x40xf16>, tensor<2xf16>) outs(%i1 : tensor<3x5x40xf16>) -> tensor<3x5x40xf16>
    return %r : tensor<3x5x40xf16>
  }
}

// -----

// The pooling a batch at a time; layer 1 goes in.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %second = transform.structured.match attributes {layer = 2 : i64} in %root : (!transform.any_op) -> !transform.any_op
    %first = transform.structured.match attributes {layer = 1 : i32} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %second tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %first_in, %loop_1 = transform.structured.fuse_into_containing_op %first into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %first_in "done" : !transform.any_op
    transform.yield
  }
}
