// producer: linalg.matvec
// consumer: linalg.abs
// cause: outside-the-loop
// repair: no
// Some steps of a power iteration, then absolute values.
func.func @power(%a: tensor<?x?xf32>, %v: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %v, %c0 : tensor<?xf32>
  %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%w = %v) -> (tensor<?xf32>) {
    %e0 = tensor.empty(%n) : tensor<?xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?xf32>) -> tensor<?xf32>
    %next = linalg.matvec ins(%a, %w : tensor<?x?xf32>, tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  %e1 = tensor.empty(%n) : tensor<?xf32>
  %abs = linalg.abs ins(%last : tensor<?xf32>) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  return %abs : tensor<?xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %abs = transform.structured.match ops{["linalg.abs"]} in %root : (!transform.any_op) -> !transform.any_op
    %abs_t, %loop = transform.structured.fuse %abs tile_sizes [32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
