// producer: linalg.exp
// consumer: linalg.add
// cause: side-effects
// repair: yes
func.func private @printF32(f32)
func.func @noisy(%x: memref<32x16xf32>) -> memref<32x16xf32> {
  %c0 = arith.constant 0 : index
  %t = memref.alloc() : memref<32x16xf32>
  %y = memref.alloc() : memref<32x16xf32>
  linalg.exp ins(%x : memref<32x16xf32>) outs(%t : memref<32x16xf32>)
  %first = memref.load %t[%c0, %c0] : memref<32x16xf32>
  func.call @printF32(%first) : (f32) -> ()
  linalg.add ins(%t, %x : memref<32x16xf32>, memref<32x16xf32>) outs(%y : memref<32x16xf32>)
  memref.dealloc %t : memref<32x16xf32>
  return %y : memref<32x16xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} attributes {sym_name = "noisy"} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.apply_registered_pass "convert-linalg-to-parallel-loops" to %func : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "scf-parallel-loop-fusion" to %loops : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
