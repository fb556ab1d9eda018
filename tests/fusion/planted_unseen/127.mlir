// producer: linalg.generic
// consumer: linalg.add
// cause: side-effects
// repair: yes
// Buffers throughout: a scale of each row into a buffer of its own, and a residual added to it.
func.func @scale_add(%x: memref<40x56xf32>, %scale: memref<40xf32>, %residual: memref<40x56xf32>, %t: memref<40x56xf32>, %y: memref<40x56xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %scale : memref<40x56xf32>, memref<40xf32>) outs(%t : memref<40x56xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.mulf %a, %c : f32
    linalg.yield %s : f32
  }
  linalg.add ins(%t, %residual : memref<40x56xf32>, memref<40x56xf32>) outs(%y : memref<40x56xf32>)
  return
}

// -----

// Tiles of the sum, the scaling within.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %rows, %columns = transform.structured.fuse %add tile_sizes [8, 28]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
