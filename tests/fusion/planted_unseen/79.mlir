// producer: 10
// consumer: 14
// cause: side-effects
// repair: yes
// Buffers: two halves of a filter, and between them somebody counts the frames for a profile.
func.func @filter(%x: memref<6x40x80xi32>, %y: memref<6x40x80xi32>, %out: memref<6x40x80xi32>, %frames: memref<4xi64>) {
  %slot = arith.constant 2 : index
  %six = arith.constant 6 : i64
  %middle = memref.alloc() : memref<6x40x80xi32>
  linalg.sub ins(%x, %y : memref<6x40x80xi32>, memref<6x40x80xi32>) outs(%middle : memref<6x40x80xi32>)
  %old = memref.load %frames[%slot] : memref<4xi64>
  %new = arith.addi %old, %six : i64
  memref.store %new, %frames[%slot] : memref<4xi64>
  linalg.mul ins(%middle, %y : memref<6x40x80xi32>, memref<6x40x80xi32>) outs(%out : memref<6x40x80xi32>)
  memref.dealloc %middle : memref<6x40x80xi32>
  return
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.apply_registered_pass "convert-linalg-to-parallel-loops" to %func : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "scf-parallel-loop-fusion" to %loops : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
