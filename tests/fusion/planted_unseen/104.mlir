// producer: 17
// consumer: 19
// cause: indivisible-sizes
// repair: yes
// Statistics of attention scores: the largest score of each row, and the sum of its magnitudes, in i32 of i8 products.
#all = affine_map<(h, q, k) -> (h, q, k)>
#row = affine_map<(h, q, k) -> (h, q)>
module {
  func.func @statistics(%q: tensor<4x60x32xi8>, %k: tensor<4x32x90xi8>) -> (tensor<4x60xi32>, tensor<4x60xi32>) {
    %zero = arith.constant 0 : i32
    %least = arith.constant -2147483648 : i32
    %se = tensor.empty() : tensor<4x60x90xi32>
    %si = linalg.fill ins(%zero : i32) outs(%se : tensor<4x60x90xi32>) -> tensor<4x60x90xi32>
    %re = tensor.empty() : tensor<4x60xi32>
    %largest_init = linalg.fill ins(%least : i32) outs(%re : tensor<4x60xi32>) -> tensor<4x60xi32>
    %total_init = linalg.fill ins(%zero : i32) outs(%re : tensor<4x60xi32>) -> tensor<4x60xi32>
    %scores = linalg.batch_matmul ins(%q, %k : tensor<4x60x32xi8>, tensor<4x32x90xi8>) outs(%si : tensor<4x60x90xi32>) -> tensor<4x60x90xi32>
    %largest = linalg.reduce { arith.maxsi } ins(%scores : tensor<4x60x90xi32>) outs(%largest_init : tensor<4x60xi32>) dimensions = [2]
    %total = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%scores : tensor<4x60x90xi32>) outs(%total_init : tensor<4x60xi32>) {
    ^bb0(%s: i32, %acc: i32):
      %m = math.absi %s : i32
      %t = arith.addi %acc, %m : i32
      linalg.yield %t : i32
    } -> tensor<4x60xi32>
    return %largest, %total : tensor<4x60xi32>, tensor<4x60xi32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %scores = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %largest = transform.structured.match ops{["linalg.reduce"]} in %root : (!transform.any_op) -> !transform.any_op
    %total = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    // Rows of a head over threads.
    %largest_tile, %largest_loop = transform.structured.tile_using_forall %largest tile_sizes [1, 12]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %total_tile, %total_loop = transform.structured.tile_using_forall %total tile_sizes [1, 20]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // Both statistics in one loop, and the scores in it, so that they are never written.
    %both = transform.loop.fuse_sibling %largest_loop into %total_loop
      : (!transform.any_op, !transform.any_op) -> !transform.any_op
    %scores_tile, %loop = transform.structured.fuse_into_containing_op %scores into %both
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
