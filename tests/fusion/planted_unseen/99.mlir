// producer: 21
// consumer: 28
// cause: several-uses
// repair: yes
// Swish (x * sigmoid(x)) of a dequantized activation, in two functions; the dequantized value is read twice.
#id = affine_map<(b, s, h) -> (b, s, h)>
#scale = affine_map<(b, s, h) -> (h)>
#row = affine_map<(b, s, h) -> (b, s)>
module {
  func.func @rows(%x: tensor<4x128x768xf32>) -> tensor<4x128xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x128xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x128xf32>) -> tensor<4x128xf32>
    %r = linalg.reduce { arith.addf } ins(%x : tensor<4x128x768xf32>) outs(%i : tensor<4x128xf32>) dimensions = [2]
    return %r : tensor<4x128xf32>
  }
  func.func @swish(%q: tensor<4x128x768xi8>, %scale: tensor<768xf32>) -> (tensor<4x128x768xf32>, tensor<4x128xf32>) {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %e = tensor.empty() : tensor<4x128x768xf32>
    %real = linalg.generic {indexing_maps = [#id, #scale, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%q, %scale : tensor<4x128x768xi8>, tensor<768xf32>) outs(%e : tensor<4x128x768xf32>) {
    ^bb0(%v: i8, %s: f32, %out: f32):
      %f = arith.sitofp %v : i8 to f32
      %m = arith.mulf %f, %s : f32
      linalg.yield %m : f32
    } -> tensor<4x128x768xf32>
    %swish = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%real : tensor<4x128x768xf32>) outs(%e : tensor<4x128x768xf32>) {
    ^bb0(%v: f32, %out: f32):
      %n = arith.negf %v : f32
      %p = math.exp %n : f32
      %d = arith.addf %p, %one : f32
      %w = arith.divf %v, %d : f32
      linalg.yield %w : f32
    } -> tensor<4x128x768xf32>
    %se = tensor.empty() : tensor<4x128xf32>
    %si = linalg.fill ins(%zero : f32) outs(%se : tensor<4x128xf32>) -> tensor<4x128xf32>
    %energy = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%real : tensor<4x128x768xf32>) outs(%si : tensor<4x128xf32>) {
    ^bb0(%v: f32, %acc: f32):
      %sq = arith.mulf %v, %v : f32
      %t = arith.addf %acc, %sq : f32
      linalg.yield %t : f32
    } -> tensor<4x128xf32>
    return %swish, %energy : tensor<4x128x768xf32>, tensor<4x128xf32>
  }
}

// -----

// First what stands in a row becomes one op, then rows are cut.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %func = transform.structured.match ops{["func.func"]} attributes{sym_name = "swish"} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func : (!transform.any_op) -> !transform.any_op
    %exp = transform.structured.match ops{["math.exp"]} in %fused : (!transform.any_op) -> !transform.any_op
    %swish = transform.get_parent_op %exp {op_name = "linalg.generic"} : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %swish tile_sizes [1, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
