// producer: 11
// consumer: 20
// cause: side-effects
// repair: yes
// A running step size in memory: the gradient is scaled by the old one, then it decays, then the update uses the new one.
func.func @update(%grad: memref<64x48xf64>, %weights: memref<64x48xf64>, %step: memref<1xf64>) -> memref<64x48xf64> {
  %c0 = arith.constant 0 : index
  %decay = arith.constant 0.99 : f64
  %scaled = memref.alloc() : memref<64x48xf64>
  %out = memref.alloc() : memref<64x48xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%grad, %step : memref<64x48xf64>, memref<1xf64>) outs(%scaled : memref<64x48xf64>) attrs = {tag = "scale"} {
  ^bb0(%g: f64, %s: f64, %o: f64):
    %v = arith.mulf %g, %s : f64
    linalg.yield %v : f64
  }
  %old = memref.load %step[%c0] : memref<1xf64>
  %new = arith.mulf %old, %decay : f64
  memref.store %new, %step[%c0] : memref<1xf64>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%weights, %scaled, %step : memref<64x48xf64>, memref<64x48xf64>, memref<1xf64>) outs(%out : memref<64x48xf64>) attrs = {tag = "update"} {
  ^bb0(%w: f64, %d: f64, %s: f64, %o: f64):
    %m = arith.mulf %w, %s : f64
    %v = arith.subf %m, %d : f64
    linalg.yield %v : f64
  }
  memref.dealloc %scaled : memref<64x48xf64>
  return %out : memref<64x48xf64>
}

// -----

// Affine loops, and the two nests in one.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %nests = transform.apply_registered_pass "convert-linalg-to-affine-loops" to %func : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "affine-loop-fusion" to %nests : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
