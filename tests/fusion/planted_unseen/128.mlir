// producer: linalg.exp
// consumer: linalg.mul
// cause: side-effects
// repair: no
// Exponentials in a shared buffer, which another part of the program centers in place; then a gate on top.
func.func private @center(%buffer: memref<32x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 2048.0 : f32
  %total = scf.for %i = %c0 to %c32 step %c1 iter_args(%s = %zero) -> (f32) {
    %row = scf.for %j = %c0 to %c64 step %c1 iter_args(%r = %s) -> (f32) {
      %v = memref.load %buffer[%i, %j] : memref<32x64xf32>
      %n = arith.addf %r, %v : f32
      scf.yield %n : f32
    }
    scf.yield %row : f32
  }
  %mean = arith.divf %total, %count : f32
  scf.for %i = %c0 to %c32 step %c1 {
    scf.for %j = %c0 to %c64 step %c1 {
      %v = memref.load %buffer[%i, %j] : memref<32x64xf32>
      %n = arith.subf %v, %mean : f32
      memref.store %n, %buffer[%i, %j] : memref<32x64xf32>
    }
  }
  return
}
func.func @gated(%x: tensor<32x64xf32>, %gate: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %e0 = tensor.empty() : tensor<32x64xf32>
  %powers = linalg.exp ins(%x : tensor<32x64xf32>) outs(%e0 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %buffer = memref.alloc() : memref<32x64xf32>
  bufferization.materialize_in_destination %powers in restrict writable %buffer : (tensor<32x64xf32>, memref<32x64xf32>) -> ()
  func.call @center(%buffer) : (memref<32x64xf32>) -> ()
  %centered = bufferization.to_tensor %buffer restrict : memref<32x64xf32> to tensor<32x64xf32>
  %e1 = tensor.empty() : tensor<32x64xf32>
  %y = linalg.mul ins(%centered, %gate : tensor<32x64xf32>, tensor<32x64xf32>) outs(%e1 : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// -----

// Rows of the gate, the exponentials within.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %gate = transform.structured.match ops{["linalg.mul"]} in %root : (!transform.any_op) -> !transform.any_op
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %gate tile_sizes [8, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %exp_tile, %both = transform.structured.fuse_into_containing_op %exp into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
