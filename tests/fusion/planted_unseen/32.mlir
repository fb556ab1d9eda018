// producer: linalg.mul
// consumer: 21
// cause: side-effects
// repair: no
// Scores are scaled into a scratch buffer, the entries of the padding token are overwritten there, and what is in the
// buffer then goes through exp.
func.func @masked(%scores: tensor<32x64xf32>, %factor: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %low = arith.constant -1.0e+4 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c63 = arith.constant 63 : index
  %e = tensor.empty() : tensor<32x64xf32>
  %scaled = linalg.mul ins(%scores, %factor : tensor<32x64xf32>, tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  %scratch = memref.alloc() : memref<32x64xf32>
  bufferization.materialize_in_destination %scaled in restrict writable %scratch : (tensor<32x64xf32>, memref<32x64xf32>) -> ()
  scf.for %i = %c0 to %c32 step %c1 {
    memref.store %low, %scratch[%i, %c63] : memref<32x64xf32>
  }
  %masked = bufferization.to_tensor %scratch restrict : memref<32x64xf32> to tensor<32x64xf32>
  %powers = linalg.exp ins(%masked : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %powers : tensor<32x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %powers = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %function = transform.get_parent_op %powers {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %powers tile_sizes [4, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    // What is left of both goes into one op.
    %rest = transform.structured.match ops{["linalg.exp", "linalg.mul"]} in %function : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %rest : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
