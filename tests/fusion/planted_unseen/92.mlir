// producer: 13
// consumer: 18
// cause: not-tileable
// repair: yes
// A recurrent layer: the inputs of all steps are projected at once; the steps read them one by one.
func.func @recurrent(%x: tensor<50x16x80xf32>, %w: tensor<80x96xf32>, %decay: tensor<16x96xf32>, %h0: tensor<16x96xf32>) -> tensor<16x96xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<50x16x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<50x16x96xf32>) -> tensor<50x16x96xf32>
  %projected = linalg.contract
      indexing_maps = [affine_map<(t, b, h, i) -> (t, b, i)>, affine_map<(t, b, h, i) -> (i, h)>, affine_map<(t, b, h, i) -> (t, b, h)>]
      ins(%x, %w : tensor<50x16x80xf32>, tensor<80x96xf32>) outs(%init : tensor<50x16x96xf32>) -> tensor<50x16x96xf32>
  %last = scf.for %t = %c0 to %c50 step %c1 iter_args(%h = %h0) -> (tensor<16x96xf32>) {
    %now = tensor.extract_slice %projected[%t, 0, 0] [1, 16, 96] [1, 1, 1] : tensor<50x16x96xf32> to tensor<16x96xf32>
    %next = linalg.generic {
        indexing_maps = [affine_map<(b, h) -> (b, h)>, affine_map<(b, h) -> (b, h)>, affine_map<(b, h) -> (b, h)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%now, %decay : tensor<16x96xf32>, tensor<16x96xf32>) outs(%h : tensor<16x96xf32>) {
    ^bb0(%p: f32, %d: f32, %before: f32):
      %kept = arith.mulf %d, %before : f32
      %sum = arith.addf %kept, %p : f32
      %act = math.tanh %sum : f32
      linalg.yield %act : f32
    } -> tensor<16x96xf32>
    scf.yield %next : tensor<16x96xf32>
  }
  return %last : tensor<16x96xf32>
}

// -----

// Each step in blocks of 4 sequences and 32 features; the projection of a block is computed with it.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %projected = transform.structured.match ops{["linalg.contract"]} in %root : (!transform.any_op) -> !transform.any_op
    %next = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %blocks = transform.structured.tile_using_forall %next tile_sizes [4, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %projected_in, %blocks_1 = transform.structured.fuse_into_containing_op %projected into %blocks
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
