// producer: linalg.generic#0
// consumer: linalg.generic#1
// cause: wrong-order
// step: transform.structured.vectorize
// repair: yes
// The gate of a layer: a row scale of the input, then x * c + shift, clamped from below.
func.func @gate(%x: tensor<24x40xf32>, %scale: tensor<24xf32>, %shift: tensor<40xf32>) -> tensor<24x40xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<24x40xf32>
  %scaled = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %scale : tensor<24x40xf32>, tensor<24xf32>) outs(%e0 : tensor<24x40xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.mulf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<24x40xf32>
  %e1 = tensor.empty() : tensor<24x40xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%scaled, %shift : tensor<24x40xf32>, tensor<40xf32>) outs(%e1 : tensor<24x40xf32>) attrs = {last} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<24x40xf32>
  return %y : tensor<24x40xf32>
}

// -----

// Rows of 4: both ops in one loop, as vectors.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %last = transform.structured.match ops{["linalg.generic"]} attributes {last} in %root : (!transform.any_op) -> !transform.any_op
    %first = transform.get_producer_of_operand %last[0] : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %first : !transform.any_op
    %tile, %loop = transform.structured.fuse %last tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %tile : !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
