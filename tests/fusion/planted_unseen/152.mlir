// producer: linalg.pack
// consumer: linalg.generic
// cause: indivisible-sizes
// step: transform.structured.fuse
// repair: yes
// A matrix in a layout of tiles of 16x8, then a leaky ReLU on it.
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @packed_relu(%x: tensor<112x72xf32>) -> tensor<7x9x16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %slope = arith.constant 0.0625 : f32
  %empty = tensor.empty() : tensor<7x9x16x8xf32>
  %packed = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [16, 8] into %empty : tensor<112x72xf32> -> tensor<7x9x16x8xf32>
  %leaky = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%packed : tensor<7x9x16x8xf32>) outs(%empty : tensor<7x9x16x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %slope : f32
    %m = arith.maximumf %a, %s : f32
    linalg.yield %m : f32
  } -> tensor<7x9x16x8xf32>
  return %leaky : tensor<7x9x16x8xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %leaky = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:3 = transform.structured.fuse %leaky tile_sizes [1, 3, 12] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
