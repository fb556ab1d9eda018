// producer: linalg.generic
// consumer: linalg.add
// cause: map
// repair: no
// Upsampling by 2 (nearest neighbour), then the sum with a skip connection.
#in = affine_map<(h, w, c, y, x) -> (h, w, c)>
#window = affine_map<(h, w, c, y, x) -> (y, x)>
#out = affine_map<(h, w, c, y, x) -> (h * 2 + y, w * 2 + x, c)>
func.func @upsample(%small: tensor<9x7x5xf32>, %skip: tensor<18x14x5xf32>) -> tensor<18x14x5xf32> {
  %window = tensor.empty() : tensor<2x2xf32>
  %empty = tensor.empty() : tensor<18x14x5xf32>
  %large = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%small, %window : tensor<9x7x5xf32>, tensor<2x2xf32>) outs(%empty : tensor<18x14x5xf32>) {
  ^bb0(%a: f32, %unused: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<18x14x5xf32>
  %sum = linalg.add ins(%large, %skip : tensor<18x14x5xf32>, tensor<18x14x5xf32>) outs(%empty : tensor<18x14x5xf32>) -> tensor<18x14x5xf32>
  return %sum : tensor<18x14x5xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.fuse %sum tile_sizes [6] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
