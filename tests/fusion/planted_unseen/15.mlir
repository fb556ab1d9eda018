// producer: linalg.mul
// consumer: linalg.reduce
// cause: side-effects
// step: transform.bufferization.one_shot_bufferize
// repair: yes
// A weighted sum of rows, and its hyperbolic tangent by elements.
func.func @pool_rows(%x: tensor<128x96xf32>, %weights: tensor<128x96xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %matrix = tensor.empty() : tensor<128x96xf32>
  %weighted = linalg.mul ins(%x, %weights : tensor<128x96xf32>, tensor<128x96xf32>) outs(%matrix : tensor<128x96xf32>) -> tensor<128x96xf32>
  %row = tensor.empty() : tensor<128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%row : tensor<128xf32>) -> tensor<128xf32>
  %sums = linalg.reduce { arith.addf } ins(%weighted : tensor<128x96xf32>) outs(%init : tensor<128xf32>) dimensions = [1]
  %bent = linalg.tanh ins(%sums : tensor<128xf32>) outs(%row : tensor<128xf32>) -> tensor<128xf32>
  return %bent : tensor<128xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @buffers(%root: !transform.any_op {transform.consumed}) -> !transform.any_op {
    transform.bufferization.eliminate_empty_tensors %root : !transform.any_op
    %module = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %root {bufferize_function_boundaries = true}
      : (!transform.any_op) -> !transform.any_op
    transform.yield %module : !transform.any_op
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %named = transform.structured.match ops{["linalg.mul", "linalg.reduce", "linalg.tanh"]} in %root : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %module = transform.include @buffers failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %func = transform.structured.match ops{["func.func"]} in %module : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %ops = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    %loops = transform.structured.convert_to_loops %ops : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
