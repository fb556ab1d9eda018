// producer: linalg.batch_matmul
// consumer: linalg.generic#1
// cause: wrong-order
// step: transform.structured.fuse_into_containing_op
// repair: yes
// Scores of an attention: q k^T, scaled, plus a mask.
#id = affine_map<(b, m, n) -> (b, m, n)>
#mask = affine_map<(b, m, n) -> (m, n)>
func.func @scores(%q: tensor<3x45x24xf32>, %kt: tensor<3x24x45xf32>, %mask: tensor<45x45xf32>) -> tensor<3x45x45xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.204124153 : f32
  %empty = tensor.empty() : tensor<3x45x45xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x45x45xf32>) -> tensor<3x45x45xf32>
  %product = linalg.batch_matmul ins(%q, %kt : tensor<3x45x24xf32>, tensor<3x24x45xf32>) outs(%init : tensor<3x45x45xf32>) -> tensor<3x45x45xf32>
  %scaled = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%product : tensor<3x45x45xf32>) outs(%empty : tensor<3x45x45xf32>) attrs = {part = "scale"} {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %scale : f32
    linalg.yield %y : f32
  } -> tensor<3x45x45xf32>
  %masked = linalg.generic {indexing_maps = [#id, #mask, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scaled, %mask : tensor<3x45x45xf32>, tensor<45x45xf32>) outs(%empty : tensor<3x45x45xf32>) attrs = {part = "mask"} {
  ^bb0(%x: f32, %m: f32, %o: f32):
    %y = arith.addf %x, %m : f32
    linalg.yield %y : f32
  } -> tensor<3x45x45xf32>
  return %masked : tensor<3x45x45xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %masked = transform.structured.match ops{["linalg.generic"]} attributes {part = "mask"} in %root : (!transform.any_op) -> !transform.any_op
    %scaled = transform.structured.match ops{["linalg.generic"]} attributes {part = "scale"} in %root : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["linalg.batch_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %init = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %masked tile_sizes [1, 15] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product_tile, %loop_1 = transform.structured.fuse_into_containing_op %product into %loop : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %scaled_tile, %loop_2 = transform.structured.fuse_into_containing_op %scaled into %loop_1 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %init_tile, %loop_3 = transform.structured.fuse_into_containing_op %init into %loop_2 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
