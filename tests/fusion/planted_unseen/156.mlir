// producer: linalg.matmul
// consumer: linalg.max
// cause: outside-the-loop
// repair: yes
// A product whose sum over 96 is written as a loop over four pieces, then a ReLU behind that loop.
func.func @pieces(%x: tensor<30x96xf32>, %w: tensor<96x44xf32>) -> tensor<30x44xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %c96 = arith.constant 96 : index
  %empty = tensor.empty() : tensor<30x44xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<30x44xf32>) -> tensor<30x44xf32>
  %all = scf.for %k = %c0 to %c96 step %c24 iter_args(%so_far = %zeros) -> (tensor<30x44xf32>) {
    %a = tensor.extract_slice %x[0, %k] [30, 24] [1, 1] : tensor<30x96xf32> to tensor<30x24xf32>
    %b = tensor.extract_slice %w[%k, 0] [24, 44] [1, 1] : tensor<96x44xf32> to tensor<24x44xf32>
    %product = linalg.matmul ins(%a, %b : tensor<30x24xf32>, tensor<24x44xf32>) outs(%so_far : tensor<30x44xf32>) -> tensor<30x44xf32>
    scf.yield %product : tensor<30x44xf32>
  }
  %relu = linalg.max ins(%all, %zeros : tensor<30x44xf32>, tensor<30x44xf32>) outs(%empty : tensor<30x44xf32>) -> tensor<30x44xf32>
  return %relu : tensor<30x44xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %relu tile_sizes [10, 22] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
