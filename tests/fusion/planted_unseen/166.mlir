// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: side-effects
// repair: yes
// On buffers: squares of a signal into a scratch buffer, then products with a window.
func.func @windowed(%signal: memref<32x64xf32>, %window: memref<64xf32>, %out: memref<32x64xf32>) {
  %scratch = memref.alloc() : memref<32x64xf32>
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%signal : memref<32x64xf32>) outs(%scratch : memref<32x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %q = arith.mulf %x, %x : f32
      linalg.yield %q : f32
  }
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%scratch, %window : memref<32x64xf32>, memref<64xf32>) outs(%out : memref<32x64xf32>) {
    ^bb0(%q: f32, %w: f32, %o: f32):
      %m = arith.mulf %q, %w : f32
      linalg.yield %m : f32
  }
  memref.dealloc %scratch : memref<32x64xf32>
  return
}

// -----

// Blocks of 4x16 for both ops, then the loops over blocks are fused, so that the scratch buffer stays small.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %generics = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %squares, %products = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %square_block, %square_loops:2 = transform.structured.tile_using_for %squares tile_sizes [4, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %block, %loops:2 = transform.structured.tile_using_for %products tile_sizes [4, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %func = transform.get_parent_op %loops#0 {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %func_1 = transform.apply_registered_pass "affine-loop-fusion" to %func : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %func_1 {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
