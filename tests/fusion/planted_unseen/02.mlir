// producer: linalg.sub
// consumer: linalg.square
// cause: wrong-order
// step: transform.apply_registered_pass
// repair: yes
// Rows with mean 0 and variance 1.
func.func @layernorm(%source: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 256.0 : f32
  %row = tensor.empty() : tensor<64xf32>
  %matrix = tensor.empty() : tensor<64x256xf32>
  %sums_init = linalg.fill ins(%zero : f32) outs(%row : tensor<64xf32>) -> tensor<64xf32>
  %sums = linalg.reduce { arith.addf } ins(%source : tensor<64x256xf32>) outs(%sums_init : tensor<64xf32>) dimensions = [1]
  %counts = linalg.fill ins(%count : f32) outs(%row : tensor<64xf32>) -> tensor<64xf32>
  %means = linalg.div ins(%sums, %counts : tensor<64xf32>, tensor<64xf32>) outs(%row : tensor<64xf32>) -> tensor<64xf32>
  %mean = linalg.broadcast ins(%means : tensor<64xf32>) outs(%matrix : tensor<64x256xf32>) dimensions = [1]
  %centered = linalg.sub ins(%source, %mean : tensor<64x256xf32>, tensor<64x256xf32>) outs(%matrix : tensor<64x256xf32>) -> tensor<64x256xf32>
  %squares = linalg.square ins(%centered : tensor<64x256xf32>) outs(%matrix : tensor<64x256xf32>) -> tensor<64x256xf32>
  %variances = linalg.reduce { arith.addf } ins(%squares : tensor<64x256xf32>) outs(%sums_init : tensor<64xf32>) dimensions = [1]
  %variance = linalg.broadcast ins(%variances : tensor<64xf32>) outs(%matrix : tensor<64x256xf32>) dimensions = [1]
  %factor = linalg.rsqrt ins(%variance : tensor<64x256xf32>) outs(%matrix : tensor<64x256xf32>) -> tensor<64x256xf32>
  %normal = linalg.mul ins(%source, %factor : tensor<64x256xf32>, tensor<64x256xf32>) outs(%matrix : tensor<64x256xf32>) -> tensor<64x256xf32>
  return %normal : tensor<64x256xf32>
}

// -----

// Fuse what works by elements, then vectors.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %named = transform.structured.match interface{LinalgOp} in %fused : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %all = transform.structured.match ops{["linalg.generic"]} attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>]} in %fused : (!transform.any_op) -> !transform.any_op
    transform.foreach %all : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %tile, %loops:2 = transform.structured.tile_using_for %each tile_sizes [1, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    }
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
