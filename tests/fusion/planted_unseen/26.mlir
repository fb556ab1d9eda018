// producer: 16
// consumer: 23
// cause: reduction
// step: transform.apply_registered_pass
// repair: yes
// Rows without their mean, scaled.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
func.func @center(%x: tensor<32x128xf32>, %scale: tensor<128xf32>) -> tensor<32x128xf32> {
  %zero = arith.constant 0.0 : f32
  %share = arith.constant 0.0078125 : f32
  %e1 = tensor.empty() : tensor<32xf32>
  %e2 = tensor.empty() : tensor<32x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32xf32>) -> tensor<32xf32>
  %mean = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<32x128xf32>) outs(%init : tensor<32xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = arith.mulf %a, %share : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<32xf32>
  %centered = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean : tensor<32x128xf32>, tensor<32xf32>) outs(%e2 : tensor<32x128xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    linalg.yield %d : f32
  } -> tensor<32x128xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%centered, %scale : tensor<32x128xf32>, tensor<128xf32>) outs(%e2 : tensor<32x128xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %d = arith.mulf %a, %s : f32
    linalg.yield %d : f32
  } -> tensor<32x128xf32>
  return %scaled : tensor<32x128xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // Mean, difference and scale become one op.
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    %ops = transform.structured.match ops{["linalg.generic"]} in %fused : (!transform.any_op) -> !transform.any_op
    // It is tiled by rows.
    transform.foreach %ops : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %tile, %loop = transform.structured.tile_using_for %op tile_sizes [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.annotate %loop "rows" : !transform.any_op
    }
    transform.yield
  }
}
