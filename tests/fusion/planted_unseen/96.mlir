// producer: 10
// consumer: 14
// cause: side-effects
// repair: yes
// A filter on buffers, as it comes out of bufferization: a difference into a scratch buffer, a count of the runs, then the square.
func.func @filter(%a: memref<64x48xi32>, %b: memref<64x48xi32>, %runs: memref<i64>) -> memref<64x48xi32> {
  %one = arith.constant 1 : i64
  %scratch = memref.alloc() : memref<64x48xi32>
  %out = memref.alloc() : memref<64x48xi32>
  linalg.sub ins(%a, %b : memref<64x48xi32>, memref<64x48xi32>) outs(%scratch : memref<64x48xi32>)
  %before = memref.load %runs[] : memref<i64>
  %after = arith.addi %before, %one : i64
  memref.store %after, %runs[] : memref<i64>
  linalg.mul ins(%scratch, %scratch : memref<64x48xi32>, memref<64x48xi32>) outs(%out : memref<64x48xi32>)
  memref.dealloc %scratch : memref<64x48xi32>
  return %out : memref<64x48xi32>
}

// -----

// Parallel loops of both ops, then one parallel loop of the two.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.apply_registered_pass "convert-linalg-to-parallel-loops" to %func
      : (!transform.any_op) -> !transform.any_op
    %one = transform.apply_registered_pass "scf-parallel-loop-fusion" to %loops
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
