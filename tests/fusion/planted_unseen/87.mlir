// producer: 10
// consumer: 20
// cause: indivisible-sizes
// repair: yes
// A layer on an odd number of rows: the activation of the layer before, then the product. 77 rows, 200 features.
func.func @layer(%before: tensor<77x200xf32>, %w: tensor<200x320xf32>) -> tensor<77x320xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %act_empty = tensor.empty() : tensor<77x200xf32>
  %act = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%before : tensor<77x200xf32>) outs(%act_empty : tensor<77x200xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.tanh %a : f32
    %h = arith.mulf %t, %half : f32
    linalg.yield %h : f32
  } -> tensor<77x200xf32>
  %init_empty = tensor.empty() : tensor<77x320xf32>
  %init = linalg.fill ins(%zero : f32) outs(%init_empty : tensor<77x320xf32>) -> tensor<77x320xf32>
  %y = linalg.matmul ins(%act, %w : tensor<77x200xf32>, tensor<200x320xf32>) outs(%init : tensor<77x320xf32>) -> tensor<77x320xf32>
  return %y : tensor<77x320xf32>
}

// -----

// Round the rows up to a multiple of the tile, so that all tiles are full; then tile and compute the activation inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %act = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %y = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %padded, %pads, %copy = transform.structured.pad %y pad_to_multiple_of [16] {
        padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %loop = transform.structured.tile_using_forall %padded tile_sizes [16, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %act_in, %loop_1 = transform.structured.fuse_into_containing_op %act into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
