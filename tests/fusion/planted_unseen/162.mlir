// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: map
// repair: yes
// Signals smoothed by a window of 9 that decays: its weights come from one number, the rate.
#signal = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
#window = affine_map<(d0, d1, d2) -> (d2)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @smooth(%signals: tensor<6x72xf32>, %rate: tensor<f32>) -> tensor<6x64xf32> {
  %zero = arith.constant 0.0 : f32
  %ew = tensor.empty() : tensor<9xf32>
  %window = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%rate : tensor<f32>) outs(%ew : tensor<9xf32>) {
  ^bb0(%r: f32, %out: f32):
    %index = linalg.index 0 : index
    %int = arith.index_cast %index : index to i32
    %place = arith.sitofp %int : i32 to f32
    %product = arith.mulf %r, %place : f32
    %negative = arith.negf %product : f32
    %square = arith.mulf %negative, %product : f32
    %v = math.exp %square : f32
    linalg.yield %v : f32
  } -> tensor<9xf32>
  %e = tensor.empty() : tensor<6x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x64xf32>) -> tensor<6x64xf32>
  %smooth = linalg.generic {indexing_maps = [#signal, #window, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%signals, %window : tensor<6x72xf32>, tensor<9xf32>) outs(%init : tensor<6x64xf32>) {
  ^bb0(%s: f32, %w: f32, %acc: f32):
    %p = arith.mulf %s, %w : f32
    %v = arith.addf %acc, %p : f32
    linalg.yield %v : f32
  } -> tensor<6x64xf32>
  return %smooth : tensor<6x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function : (!transform.any_op) -> !transform.any_op
    %return = transform.structured.match ops{["func.return"]} in %fused : (!transform.any_op) -> !transform.any_op
    %smooth = transform.get_producer_of_operand %return[0] : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %smooth tile_sizes [2, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
