// producer: linalg.negf
// consumer: linalg.max
// cause: not-tileable
// repair: yes
// Weights are prepared once; batches of 32 rows follow one another.
func.func @batches(%x: tensor<128x48xf32>, %y: tensor<128x48xf32>) -> tensor<128x48xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %empty = tensor.empty() : tensor<128x48xf32>
  %prepared = linalg.negf ins(%x : tensor<128x48xf32>) outs(%empty : tensor<128x48xf32>) -> tensor<128x48xf32>
  %result = scf.for %i = %c0 to %c128 step %c32 iter_args(%acc = %empty) -> (tensor<128x48xf32>) {
    %left = tensor.extract_slice %prepared[%i, 0] [32, 48] [1, 1] : tensor<128x48xf32> to tensor<32x48xf32>
    %right = tensor.extract_slice %y[%i, 0] [32, 48] [1, 1] : tensor<128x48xf32> to tensor<32x48xf32>
    %into = tensor.extract_slice %acc[%i, 0] [32, 48] [1, 1] : tensor<128x48xf32> to tensor<32x48xf32>
    %greater = linalg.max ins(%left, %right : tensor<32x48xf32>, tensor<32x48xf32>) outs(%into : tensor<32x48xf32>) -> tensor<32x48xf32>
    %next = tensor.insert_slice %greater into %acc[%i, 0] [32, 48] [1, 1] : tensor<32x48xf32> into tensor<128x48xf32>
    scf.yield %next : tensor<128x48xf32>
  }
  return %result : tensor<128x48xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %batch = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    %max = transform.structured.match ops{["linalg.max"]} in %batch : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.fuse %max tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %lanes, %columns = transform.structured.tile_using_for %tile tile_sizes [0, 16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %lanes vector_sizes [8, 16] : !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
