// producer: 8
// consumer: 14
// cause: indivisible-sizes
// repair: yes
// Buffers, as another compiler left them: the velocity is damped in place, and the position follows it.
#id = affine_map<(x, y, z) -> (x, y, z)>
func.func @step(%damping: memref<48x60x20xf32>, %velocity: memref<48x60x20xf32>, %position: memref<48x60x20xf32, strided<[2400, 40, 2], offset: ?>>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%damping : memref<48x60x20xf32>) outs(%velocity : memref<48x60x20xf32>) {
  ^bb0(%d: f32, %v: f32):
    %w = arith.mulf %d, %v : f32
    linalg.yield %w : f32
  }
  linalg.add ins(%position, %velocity : memref<48x60x20xf32, strided<[2400, 40, 2], offset: ?>>, memref<48x60x20xf32>)
      outs(%position : memref<48x60x20xf32, strided<[2400, 40, 2], offset: ?>>)
  return
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %damp = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %move = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %damp_tile, %damp_loop = transform.structured.tile_using_forall %damp tile_sizes [8, 10, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %move_tile, %move_loop = transform.structured.tile_using_forall %move tile_sizes [8, 16, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %both = transform.loop.fuse_sibling %damp_loop into %move_loop
      : (!transform.any_op, !transform.any_op) -> !transform.any_op
    transform.yield
  }
}
