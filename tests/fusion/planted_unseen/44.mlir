// producer: 17
// consumer: 21
// cause: outside-the-loop
// repair: no
// Scores of an attention, a head at a time in a loop, then scaled all at once.
func.func @scores(%queries: tensor<4x32x16xf32>, %keys: tensor<4x16x32xf32>, %scale: tensor<4x32x32xf32>) -> tensor<4x32x32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x32x32xf32>
  %head_empty = tensor.empty() : tensor<32x32xf32>
  %all = scf.for %head = %c0 to %c4 step %c1 iter_args(%sofar = %empty) -> (tensor<4x32x32xf32>) {
    %q = tensor.extract_slice %queries[%head, 0, 0] [1, 32, 16] [1, 1, 1] : tensor<4x32x16xf32> to tensor<32x16xf32>
    %k = tensor.extract_slice %keys[%head, 0, 0] [1, 16, 32] [1, 1, 1] : tensor<4x16x32xf32> to tensor<16x32xf32>
    %init = linalg.fill ins(%zero : f32) outs(%head_empty : tensor<32x32xf32>) -> tensor<32x32xf32>
    %one = linalg.matmul ins(%q, %k : tensor<32x16xf32>, tensor<16x32xf32>) outs(%init : tensor<32x32xf32>) -> tensor<32x32xf32>
    %next = tensor.insert_slice %one into %sofar[%head, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<32x32xf32> into tensor<4x32x32xf32>
    scf.yield %next : tensor<4x32x32xf32>
  }
  %scaled = linalg.mul ins(%all, %scale : tensor<4x32x32xf32>, tensor<4x32x32xf32>) outs(%empty : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
  %exp = linalg.exp ins(%scaled : tensor<4x32x32xf32>) outs(%empty : tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
  return %exp : tensor<4x32x32xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.annotate %loop "heads" : !transform.any_op
    %exp = transform.structured.match ops{["linalg.exp"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %tiles = transform.structured.fuse %exp tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %tiles "tiles" : !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    // Both go over the heads: one loop for both.
    %scores = transform.structured.match ops{["scf.for"]} attributes {heads} in %function : (!transform.any_op) -> !transform.any_op
    %scaling = transform.structured.match ops{["scf.for"]} attributes {tiles} in %function : (!transform.any_op) -> !transform.any_op
    %both = transform.loop.fuse_sibling %scaling into %scores : (!transform.any_op, !transform.any_op) -> !transform.any_op
    transform.yield
  }
}
