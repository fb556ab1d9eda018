// producer: 10
// consumer: 11
// cause: outside-the-loop
// repair: yes
// Two towers of a recommender: users through a product and a ReLU, items merely scaled.
func.func @two_towers(%users: tensor<64x128xf32>, %weights: tensor<128x64xf32>, %items: tensor<96x64xf32>, %scale: f32) -> (tensor<64x64xf32>, tensor<96x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %hidden = linalg.matmul ins(%users, %weights : tensor<64x128xf32>, tensor<128x64xf32>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  %user_vectors = linalg.generic {indexing_maps = [affine_map<(b, f) -> (b, f)>, affine_map<(b, f) -> (b, f)>], iterator_types = ["parallel", "parallel"]}
      ins(%hidden : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) attrs = {tower = "user"} {
  ^bb0(%x: f32, %o: f32):
    %m = arith.maximumf %x, %zero : f32
    linalg.yield %m : f32
  } -> tensor<64x64xf32>
  %items_empty = tensor.empty() : tensor<96x64xf32>
  %item_vectors = linalg.generic {indexing_maps = [affine_map<(b, f) -> (b, f)>, affine_map<(b, f) -> (b, f)>], iterator_types = ["parallel", "parallel"]}
      ins(%items : tensor<96x64xf32>) outs(%items_empty : tensor<96x64xf32>) attrs = {tower = "item"} {
  ^bb0(%x: f32, %o: f32):
    %m = arith.mulf %x, %scale : f32
    linalg.yield %m : f32
  } -> tensor<96x64xf32>
  return %user_vectors, %item_vectors : tensor<64x64xf32>, tensor<96x64xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %user = transform.structured.match ops{["linalg.generic"]} attributes {tower = "user"} in %root : (!transform.any_op) -> !transform.any_op
    %item = transform.structured.match ops{["linalg.generic"]} attributes {tower = "item"} in %root : (!transform.any_op) -> !transform.any_op
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op

    %item_tile, %item_rows = transform.structured.tile_using_for %item tile_sizes [16]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %user_tile, %user_rows = transform.structured.tile_using_for %user tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %item_rows "items" : !transform.any_op

    %loop = transform.structured.match ops{["scf.for"]} in %root : (!transform.any_op) -> !transform.any_op
    %matmul_tile, %fused = transform.structured.fuse_into_containing_op %matmul into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
