// producer: 10
// consumer: 19
// cause: map
// repair: yes
// The end of a row norm as frameworks export it, with keepdim: r = rsqrt(s / n) as a column, then x * r.
func.func @scale_rows(%x: tensor<?x512xf32>, %s: tensor<?xf32>, %n: f32) -> tensor<?x512xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x512xf32>
  %r_empty = tensor.empty(%rows) : tensor<?x1xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i, 0)>], iterator_types = ["parallel"]}
      ins(%s, %n : tensor<?xf32>, f32) outs(%r_empty : tensor<?x1xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %mean = arith.divf %a, %m : f32
    %root = math.rsqrt %mean : f32
    linalg.yield %root : f32
  } -> tensor<?x1xf32>
  %y_empty = tensor.empty(%rows) : tensor<?x512xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : tensor<?x512xf32>, tensor<?x1xf32>) outs(%y_empty : tensor<?x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// -----

// One elementwise op, in blocks of rows.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %func
      : (!transform.any_op) -> !transform.any_op
    %all = transform.structured.match ops{["linalg.generic"]} in %merged : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %all tile_sizes [8]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
