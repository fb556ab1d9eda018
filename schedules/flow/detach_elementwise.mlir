// Payload: data/flow/detach_elementwise.mlir
// Pass:    DetachElementwiseFromNamedOps of IREE's Flow pipeline.
// Idea:    the convolution starts from zeros, and the sum with what it started from becomes an op of its own.
//          transform.apply_patterns.linalg.fold_add_into_dest is the inverse.
// Helps:   the sum fuses with what follows, and what is added need not be there before the product.
// Before:  %result = linalg.conv_2d_nhwc_hwcf … outs(%twice)
// After:   %conv = linalg.conv_2d_nhwc_hwcf … outs(%zeros); %result = linalg.add ins(%conv, %twice)
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %convolution = transform.structured.match ops{["linalg.conv_2d_nhwc_hwcf"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %detached, %sum = "lhkit.detach_elementwise"(%convolution)
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
