// producer: 10
// consumer: 25
// cause: wrong-order
// repair: yes
// Weights in eight bits are dequantized once, for a bounded copy (statistics) and a sparsity mask.
#id = affine_map<(r, c) -> (r, c)>
#col = affine_map<(r, c) -> (c)>
func.func @dequantize_for_two(%q: tensor<256x384xi8>, %scale: tensor<384xf32>, %limit: f32) -> (tensor<256x384xf32>, tensor<256x384xi1>) {
  %ew = tensor.empty() : tensor<256x384xf32>
  %w = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%q, %scale : tensor<256x384xi8>, tensor<384xf32>) outs(%ew : tensor<256x384xf32>) attrs = {tag = "dequantize"} {
  ^bb0(%a: i8, %s: f32, %out: f32):
    %f = arith.sitofp %a : i8 to f32
    %v = arith.mulf %f, %s : f32
    linalg.yield %v : f32
  } -> tensor<256x384xf32>
  %eb = tensor.empty() : tensor<256x384xf32>
  %bounded = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<256x384xf32>) outs(%eb : tensor<256x384xf32>) attrs = {tag = "bound"} {
  ^bb0(%a: f32, %out: f32):
    %v = arith.minimumf %a, %limit : f32
    linalg.yield %v : f32
  } -> tensor<256x384xf32>
  %em = tensor.empty() : tensor<256x384xi1>
  %mask = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<256x384xf32>) outs(%em : tensor<256x384xi1>) attrs = {tag = "mask"} {
  ^bb0(%a: f32, %out: i1):
    %abs = math.absf %a : f32
    %v = arith.cmpf ogt, %abs, %limit : f32
    linalg.yield %v : i1
  } -> tensor<256x384xi1>
  return %bounded, %mask : tensor<256x384xf32>, tensor<256x384xi1>
}

// -----

// Both users are tiled alike; each is to compute its own piece of the weights.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @tile_user(%op: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %tile, %forall = transform.structured.tile_using_forall %op tile_sizes [32, 48]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %forall : !transform.any_op
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %bound = transform.structured.match attributes {tag = "bound"} in %root : (!transform.any_op) -> !transform.any_op
    %mask = transform.structured.match attributes {tag = "mask"} in %root : (!transform.any_op) -> !transform.any_op
    %loop_b = transform.include @tile_user failures(propagate) (%bound) : (!transform.any_op) -> !transform.any_op
    %loop_m = transform.include @tile_user failures(propagate) (%mask) : (!transform.any_op) -> !transform.any_op

    %w = transform.structured.match attributes {tag = "dequantize"} in %root : (!transform.any_op) -> !transform.any_op
    %w_b, %loop_b_1 = transform.structured.fuse_into_containing_op %w into %loop_b
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The handle is used up: look for the op again.
    %w_again = transform.structured.match attributes {tag = "dequantize"} in %root : (!transform.any_op) -> !transform.any_op
    %w_m, %loop_m_1 = transform.structured.fuse_into_containing_op %w_again into %loop_m
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
