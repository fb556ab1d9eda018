// producer: 11
// consumer: 13
// cause: side-effects
// repair: no
// Two elementwise ops in buffers; in between the corner gets a value of its own.
func.func @buffers(%x: memref<64x32xf32>, %y: memref<64x32xf32>) -> memref<64x32xf32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %between = memref.alloc() : memref<64x32xf32>
  %result = memref.alloc() : memref<64x32xf32>
  linalg.mul ins(%x, %y : memref<64x32xf32>, memref<64x32xf32>) outs(%between : memref<64x32xf32>)
  memref.store %one, %between[%c0, %c0] : memref<64x32xf32>
  linalg.exp ins(%between : memref<64x32xf32>) outs(%result : memref<64x32xf32>)
  memref.dealloc %between : memref<64x32xf32>
  return %result : memref<64x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.apply_registered_pass "convert-linalg-to-parallel-loops" to %function : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "scf-parallel-loop-fusion" to %loops : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %fused : !transform.any_op
    transform.yield
  }
}
