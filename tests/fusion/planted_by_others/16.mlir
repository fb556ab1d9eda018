// producer: linalg.reduce
// consumer: linalg.sqrt
// cause: side-effects
// repair: no
// Row sums into a buffer, one of them overwritten, then their square roots.
func.func @norms(%x: memref<48x64xf32>, %sums: memref<48xf32>, %out: memref<48xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %c5 = arith.constant 5 : index
  linalg.fill ins(%zero : f32) outs(%sums : memref<48xf32>)
  linalg.reduce { arith.addf } ins(%x : memref<48x64xf32>) outs(%sums : memref<48xf32>) dimensions = [1]
  memref.store %one, %sums[%c5] : memref<48xf32>
  linalg.sqrt ins(%sums : memref<48xf32>) outs(%out : memref<48xf32>)
  return
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sum = transform.structured.match ops{["linalg.reduce"]} in %root : (!transform.any_op) -> !transform.any_op
    %sqrt = transform.structured.match ops{["linalg.sqrt"]} in %root : (!transform.any_op) -> !transform.any_op
    %sqrt_t, %loop = transform.structured.tile_using_for %sqrt tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum_t, %loop1 = transform.structured.fuse_into_containing_op %sum into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
