// producer: 12
// consumer: 13
// cause: empty-handle
// repair: yes
// A dense layer in f16: product, bias, sigmoid.
func.func @dense(%x: tensor<192x320xf16>, %w: tensor<320x256xf16>, %bias: tensor<192x256xf16>) -> tensor<192x256xf16> {
  %zero = arith.constant 0.0 : f16
  %one = arith.constant 1.0 : f16
  %room = tensor.empty() : tensor<192x256xf16>
  %init = linalg.fill ins(%zero : f16) outs(%room : tensor<192x256xf16>) -> tensor<192x256xf16>
  %product = linalg.matmul ins(%x, %w : tensor<192x320xf16>, tensor<320x256xf16>) outs(%init : tensor<192x256xf16>) -> tensor<192x256xf16>
  %biased = linalg.elementwise kind=#linalg.elementwise_kind<add> ins(%product, %bias : tensor<192x256xf16>, tensor<192x256xf16>) outs(%room : tensor<192x256xf16>) -> tensor<192x256xf16>
  %sigmoid = linalg.map ins(%biased : tensor<192x256xf16>) outs(%room : tensor<192x256xf16>)
    (%v: f16, %init_v: f16) {
      %n = arith.negf %v : f16
      %e = math.exp %n : f16
      %d = arith.addf %e, %one : f16
      %q = arith.divf %one, %d : f16
      linalg.yield %q : f16
    }
  return %sigmoid : tensor<192x256xf16>
}

// -----

module attributes {transform.with_named_sequence} {
  // The op that adds the bias: elementwise, not the product itself.
  transform.named_sequence @adds_bias(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.add", "linalg.generic", "linalg.elementwise"] : !transform.any_op
    transform.match.structured failures(propagate) %op : !transform.any_op {
    ^bb0(%structured: !transform.any_op):
      %rank = transform.match.structured.rank %structured : (!transform.any_op) -> !transform.param<i64>
      %three = transform.param.constant 3 : i64 -> !transform.param<i64>
      transform.match.param.cmpi eq %rank, %three : !transform.param<i64>
      transform.match.structured.yield
    }
    transform.yield %op : !transform.any_op
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %last = transform.structured.match ops{["linalg.map"]} in %root : (!transform.any_op) -> !transform.any_op
    %bias = transform.collect_matching @adds_bias in %root : (!transform.any_op) -> !transform.any_op
    %tile, %forall = transform.structured.tile_using_forall %last tile_sizes [16, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bias_tile, %l0 = transform.structured.fuse_into_containing_op %bias into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
