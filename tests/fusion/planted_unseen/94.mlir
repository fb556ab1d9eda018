// producer: 13
// consumer: 20
// cause: dead-handle
// repair: yes
// Root mean square norm of dynamic rows of 768 features: squares summed by rows, then every row divided.
func.func @rms_norm(%x: tensor<?x768xf32>) -> tensor<?x768xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 768.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x768xf32>
  %sums_empty = tensor.empty(%rows) : tensor<?xf32>
  %sums_init = linalg.fill ins(%zero : f32) outs(%sums_empty : tensor<?xf32>) -> tensor<?xf32>
  %sums = linalg.reduce ins(%x : tensor<?x768xf32>) outs(%sums_init : tensor<?xf32>) dimensions = [1]
    (%v: f32, %acc: f32) {
      %square = arith.mulf %v, %v : f32
      %sum = arith.addf %acc, %square : f32
      linalg.yield %sum : f32
    }
  %y_empty = tensor.empty(%rows) : tensor<?x768xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sums : tensor<?x768xf32>, tensor<?xf32>) outs(%y_empty : tensor<?x768xf32>) {
  ^bb0(%v: f32, %s: f32, %o: f32):
    %mean = arith.divf %s, %n : f32
    %r = math.rsqrt %mean : f32
    %scaled = arith.mulf %v, %r : f32
    linalg.yield %scaled : f32
  } -> tensor<?x768xf32>
  return %y : tensor<?x768xf32>
}

// -----

// Four rows at a time; tidy up what tiling leaves behind; then the sums go inside.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %sums = transform.structured.match ops{["linalg.reduce"]} in %func : (!transform.any_op) -> !transform.any_op
    %y = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %y tile_sizes [4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tidy = transform.apply_registered_pass "canonicalize" to %func : (!transform.any_op) -> !transform.any_op
    %sums_in, %loop_1 = transform.structured.fuse_into_containing_op %sums into %loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
