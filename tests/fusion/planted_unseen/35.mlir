// producer: 12
// consumer: 13
// cause: several-uses
// step: transform.apply_registered_pass
// repair: yes
// The rows' distance from their mean, and its mean square, as a layer norm needs them.
func.func @center(%source: tensor<64x128xf32>, %mean: tensor<64xf32>, %scale: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x128xf32>
  %rows = tensor.empty() : tensor<64xf32>
  %means = linalg.broadcast ins(%mean : tensor<64xf32>) outs(%empty : tensor<64x128xf32>) dimensions = [1]
  %centered = linalg.sub ins(%source, %means : tensor<64x128xf32>, tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  %squares = linalg.square ins(%centered : tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<64xf32>) -> tensor<64xf32>
  %sums = linalg.reduce { arith.addf } ins(%squares : tensor<64x128xf32>) outs(%init : tensor<64xf32>) dimensions = [1]
  %scaled = linalg.mul ins(%centered, %scale : tensor<64x128xf32>, tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %scaled, %sums : tensor<64x128xf32>, tensor<64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %named = transform.structured.match ops{["linalg.broadcast", "linalg.sub", "linalg.square", "linalg.mul"]} in %root : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %sums = transform.structured.match ops{["linalg.reduce"]} in %fused : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %sums tile_sizes [8, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
