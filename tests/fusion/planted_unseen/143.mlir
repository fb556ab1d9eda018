// producer: linalg.matmul
// consumer: linalg.generic
// cause: side-effects
// repair: no
// A layer in buffers, as another compiler leaves it: product into a scratch buffer, which a hook of a profiler gets to
// see (and may change), then bias and ReLU from there.
#id = affine_map<(i, j) -> (i, j)>
#col = affine_map<(i, j) -> (j)>
func.func private @observe(memref<40x72xf32>)
func.func @layer(%x: memref<40x56xf32>, %w: memref<56x72xf32>, %bias: memref<72xf32>, %out: memref<40x72xf32>) {
  %zero = arith.constant 0.0 : f32
  %scratch = memref.alloc() : memref<40x72xf32>
  linalg.fill ins(%zero : f32) outs(%scratch : memref<40x72xf32>)
  linalg.matmul ins(%x, %w : memref<40x56xf32>, memref<56x72xf32>) outs(%scratch : memref<40x72xf32>)
  func.call @observe(%scratch) : (memref<40x72xf32>) -> ()
  linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scratch, %bias : memref<40x72xf32>, memref<72xf32>) outs(%out : memref<40x72xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  }
  memref.dealloc %scratch : memref<40x72xf32>
  return
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %bias = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %bias tile_sizes [8, 24]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %matmul_tile, %loop_1 = transform.structured.fuse_into_containing_op %matmul into %loops#1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
