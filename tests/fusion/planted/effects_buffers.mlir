// producer: linalg.exp
// consumer: linalg.abs
// cause: side-effects
// repair: yes
// why: the two meet in memory and not in a value; fusion follows values
func.func @f(%x: memref<64x64xf32>, %t: memref<64x64xf32>, %o: memref<64x64xf32>) {
  linalg.exp ins(%x : memref<64x64xf32>) outs(%t : memref<64x64xf32>)
  linalg.abs ins(%t : memref<64x64xf32>) outs(%o : memref<64x64xf32>)
  return
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %producer = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %consumer = transform.structured.match ops{["linalg.abs"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %consumer tile_sizes [8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %inside, %grown = transform.structured.fuse_into_containing_op %producer into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
