// producer: 16
// consumer: 24
// cause: side-effects
// repair: no
// After bufferization: a reduction writes its sums to a buffer, a guard is stored there, and a division reads them.
#all = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
module {
  func.func @normalize_rows(%x: memref<?x?xf64, strided<[?, 1], offset: ?>>, %y: memref<?x?xf64>) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f64
    %one = arith.constant 1.0 : f64
    %rows = memref.dim %x, %c0 : memref<?x?xf64, strided<[?, 1], offset: ?>>
    %sums = memref.alloc(%rows) : memref<?xf64>
    linalg.fill ins(%zero : f64) outs(%sums : memref<?xf64>)
    linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : memref<?x?xf64, strided<[?, 1], offset: ?>>) outs(%sums : memref<?xf64>) attrs = {sum} {
    ^bb0(%v: f64, %acc: f64):
      %s = arith.addf %acc, %v : f64
      linalg.yield %s : f64
    }
    // Row 0 is all zeros by convention, and stays so.
    memref.store %one, %sums[%c0] : memref<?xf64>
    linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
        ins(%x, %sums : memref<?x?xf64, strided<[?, 1], offset: ?>>, memref<?xf64>) outs(%y : memref<?x?xf64>) attrs = {divide} {
    ^bb0(%v: f64, %s: f64, %out: f64):
      %d = arith.divf %v, %s : f64
      linalg.yield %d : f64
    }
    memref.dealloc %sums : memref<?xf64>
    return
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %sum = transform.structured.match ops{["linalg.generic"]} attributes{sum} in %root : (!transform.any_op) -> !transform.any_op
    %divide = transform.structured.match ops{["linalg.generic"]} attributes{divide} in %root : (!transform.any_op) -> !transform.any_op
    // Rows over threads, the sum of a row where it is needed.
    %tile, %loop = transform.structured.tile_using_forall %divide tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum_tile, %loop_1 = transform.structured.fuse_into_containing_op %sum into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
