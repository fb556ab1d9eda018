// producer: 13
// consumer: 23
// cause: wrong-order
// repair: yes
// Dequantized activations feed two things: the sums of the rows (for a zero point correction) and a scaled copy.
#full = affine_map<(r, c) -> (r, c)>
#col = affine_map<(r, c) -> (c)>
func.func @dequant(%q: tensor<?x96xi8>, %zp: tensor<96xi8>, %scale: tensor<96xf32>, %rows: index) -> (tensor<?xi32>, tensor<?x96xf32>) {
  %c0 = arith.constant 0 : i32
  %wide = tensor.empty(%rows) : tensor<?x96xi32>
  %flat = tensor.empty(%rows) : tensor<?xi32>
  %float = tensor.empty(%rows) : tensor<?x96xf32>
  %shifted = linalg.generic {indexing_maps = [#full, #col, #full], iterator_types = ["parallel", "parallel"]}
      ins(%q, %zp : tensor<?x96xi8>, tensor<96xi8>) outs(%wide : tensor<?x96xi32>) {
  ^bb0(%a: i8, %z: i8, %out: i32):
    %a32 = arith.extsi %a : i8 to i32
    %z32 = arith.extsi %z : i8 to i32
    %d = arith.subi %a32, %z32 : i32
    linalg.yield %d : i32
  } -> tensor<?x96xi32>
  %zeros = linalg.fill ins(%c0 : i32) outs(%flat : tensor<?xi32>) -> tensor<?xi32>
  %sums = linalg.reduce { arith.addi } ins(%shifted : tensor<?x96xi32>) outs(%zeros : tensor<?xi32>) dimensions = [1]
  %scaled = linalg.generic {indexing_maps = [#full, #col, #full], iterator_types = ["parallel", "parallel"]}
      ins(%shifted, %scale : tensor<?x96xi32>, tensor<96xf32>) outs(%float : tensor<?x96xf32>) {
  ^bb0(%a: i32, %s: f32, %out: f32):
    %f = arith.sitofp %a : i32 to f32
    %p = arith.mulf %f, %s : f32
    linalg.yield %p : f32
  } -> tensor<?x96xf32>
  return %sums, %scaled : tensor<?xi32>, tensor<?x96xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %generics = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %shifted, %scaled = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sums = transform.structured.match ops{["linalg.reduce"]} in %root : (!transform.any_op) -> !transform.any_op

    // A loop for each of the two consumers ...
    %sums_tile, %rows = transform.structured.tile_using_forall %sums tile_sizes [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %scaled_tile, %blocks = transform.structured.tile_using_forall %scaled tile_sizes [8, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    // ... and the shift goes into both.
    %shifted_1, %rows_1 = transform.structured.fuse_into_containing_op %shifted into %rows
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %shifted_2, %blocks_1 = transform.structured.fuse_into_containing_op %shifted_1 into %blocks
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
