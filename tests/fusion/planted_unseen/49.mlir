// producer: 18
// consumer: 24
// cause: wrong-order
// repair: yes
// Masked softmax over the last dimension of attention scores.
func.func @masked_softmax(%scores: tensor<6x12x96xf32>, %bias: tensor<96xf32>) -> tensor<6x12x96xf32> {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %full = tensor.empty() : tensor<6x12x96xf32>
  %rows = tensor.empty() : tensor<6x12xf32>
  %masked = linalg.generic {indexing_maps = [affine_map<(b, h, k) -> (b, h, k)>, affine_map<(b, h, k) -> (k)>, affine_map<(b, h, k) -> (b, h, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scores, %bias : tensor<6x12x96xf32>, tensor<96xf32>) outs(%full : tensor<6x12x96xf32>) attrs = {tag = "mask"} {
  ^bb0(%s: f32, %m: f32, %out: f32):
    %v = arith.addf %s, %m : f32
    linalg.yield %v : f32
  } -> tensor<6x12x96xf32>
  %lowest = linalg.fill ins(%ninf : f32) outs(%rows : tensor<6x12xf32>) -> tensor<6x12xf32>
  %rowmax = linalg.generic {indexing_maps = [affine_map<(b, h, k) -> (b, h, k)>, affine_map<(b, h, k) -> (b, h)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%masked : tensor<6x12x96xf32>) outs(%lowest : tensor<6x12xf32>) attrs = {tag = "rowmax"} {
  ^bb0(%s: f32, %acc: f32):
    %v = arith.maximumf %s, %acc : f32
    linalg.yield %v : f32
  } -> tensor<6x12xf32>
  %exp = linalg.generic {indexing_maps = [affine_map<(b, h, k) -> (b, h, k)>, affine_map<(b, h, k) -> (b, h)>, affine_map<(b, h, k) -> (b, h, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%masked, %rowmax : tensor<6x12x96xf32>, tensor<6x12xf32>) outs(%full : tensor<6x12x96xf32>) attrs = {tag = "exp"} {
  ^bb0(%s: f32, %m: f32, %out: f32):
    %d = arith.subf %s, %m : f32
    %v = math.exp %d : f32
    linalg.yield %v : f32
  } -> tensor<6x12x96xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : tensor<6x12xf32>) -> tensor<6x12xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(b, h, k) -> (b, h, k)>, affine_map<(b, h, k) -> (b, h)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%exp : tensor<6x12x96xf32>) outs(%zeros : tensor<6x12xf32>) attrs = {tag = "sum"} {
  ^bb0(%e: f32, %acc: f32):
    %v = arith.addf %e, %acc : f32
    linalg.yield %v : f32
  } -> tensor<6x12xf32>
  %norm = linalg.generic {indexing_maps = [affine_map<(b, h, k) -> (b, h, k)>, affine_map<(b, h, k) -> (b, h)>, affine_map<(b, h, k) -> (b, h, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%exp, %sum : tensor<6x12x96xf32>, tensor<6x12xf32>) outs(%full : tensor<6x12x96xf32>) attrs = {tag = "norm"} {
  ^bb0(%e: f32, %s: f32, %out: f32):
    %v = arith.divf %e, %s : f32
    linalg.yield %v : f32
  } -> tensor<6x12x96xf32>
  return %norm : tensor<6x12x96xf32>
}

// -----

// One head of one batch at a time; the rest of the softmax is to follow into the loop.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %all = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %mask, %rowmax, %exp, %sum, %norm = transform.split_handle %all
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %grid = transform.structured.tile_using_forall %norm tile_sizes [1, 1, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %sum_in, %g1 = transform.structured.fuse_into_containing_op %sum into %grid
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %rowmax_in, %g2 = transform.structured.fuse_into_containing_op %rowmax into %g1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %exp_in, %g3 = transform.structured.fuse_into_containing_op %exp into %g2
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %mask_in, %g4 = transform.structured.fuse_into_containing_op %mask into %g3
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
