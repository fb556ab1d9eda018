// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: outside-the-loop
// repair: yes
// Ten steps of a relaxation that starts from a scaled guess.
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @relax(%guess: tensor<64x64xf32>, %target: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %half = arith.constant 0.5 : f32
  %quarter = arith.constant 0.25 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %start = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%guess : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
  ^bb0(%a: f32, %out: f32):
    %v = arith.mulf %a, %half : f32
    linalg.yield %v : f32
  } -> tensor<64x64xf32>
  %end = scf.for %i = %c0 to %c10 step %c1 iter_args(%now = %start) -> (tensor<64x64xf32>) {
    %next = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%now, %target : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %d = arith.subf %b, %a : f32
      %s = arith.mulf %d, %quarter : f32
      %v = arith.addf %a, %s : f32
      linalg.yield %v : f32
    } -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  return %end : tensor<64x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %steps = transform.structured.match ops{["scf.for"]} in %fused : (!transform.any_op) -> !transform.any_op
    transform.apply_licm to %steps : !transform.any_op
    %next = transform.structured.match ops{["linalg.generic"]} in %steps : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %next tile_sizes [8, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
