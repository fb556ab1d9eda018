// producer: 20
// consumer: 24
// cause: several-uses
// step: transform.apply_registered_pass
// repair: yes
// Softmax without the shift, by rows.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @softmax(%x: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %e2 = tensor.empty() : tensor<128x64xf32>
  %e1 = tensor.empty() : tensor<128xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<128x64xf32>) outs(%e2 : tensor<128x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.mulf %a, %half : f32
    linalg.yield %v : f32
  } -> tensor<128x64xf32>
  %powers = linalg.exp ins(%scaled : tensor<128x64xf32>) outs(%e2 : tensor<128x64xf32>) -> tensor<128x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<128xf32>) -> tensor<128xf32>
  %sum = linalg.reduce { arith.addf } ins(%powers : tensor<128x64xf32>) outs(%init : tensor<128xf32>) dimensions = [1]
  %sums = linalg.broadcast ins(%sum : tensor<128xf32>) outs(%e2 : tensor<128x64xf32>) dimensions = [1]
  %result = linalg.div ins(%powers, %sums : tensor<128x64xf32>, tensor<128x64xf32>) outs(%e2 : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %result : tensor<128x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %named = transform.structured.match ops{["linalg.exp", "linalg.broadcast", "linalg.div"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    // Scale, exponential, broadcast and quotient are to be one op.
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    %both = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    %powers, %quotient = transform.split_handle %both : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // Sixteen partial sums a row.
    %sum = transform.structured.match ops{["linalg.reduce"]} in %fused : (!transform.any_op) -> !transform.any_op
    %fill, %partial, %combine, %sum_loop = transform.structured.tile_reduction_using_for %sum by tile_sizes = [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_for %quotient tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
