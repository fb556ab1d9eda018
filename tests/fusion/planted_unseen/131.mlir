// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: several-uses
// step: transform.apply_registered_pass
// repair: yes
// A scaled input that two branches read: one clips it, one squares it for a norm later on.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @two_branches(%x: tensor<37x129xf32>, %gain: tensor<129xf32>) -> (tensor<37x129xf32>, tensor<37x129xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<37x129xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %gain : tensor<37x129xf32>, tensor<129xf32>) outs(%e : tensor<37x129xf32>) {
  ^bb0(%a: f32, %g: f32, %o: f32):
    %r = arith.mulf %a, %g : f32
    linalg.yield %r : f32
  } -> tensor<37x129xf32>
  %clipped = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scaled : tensor<37x129xf32>) outs(%e : tensor<37x129xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  } -> tensor<37x129xf32>
  %squares = linalg.square ins(%scaled : tensor<37x129xf32>) outs(%e : tensor<37x129xf32>) -> tensor<37x129xf32>
  return %clipped, %squares : tensor<37x129xf32>, tensor<37x129xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %square = transform.structured.match ops{["linalg.square"]} in %root : (!transform.any_op) -> !transform.any_op
    %square_generic = transform.structured.generalize %square : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    transform.apply_patterns to %fused {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
