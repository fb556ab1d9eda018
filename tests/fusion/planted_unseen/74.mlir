// producer: 11
// consumer: 17
// cause: map
// repair: yes
// Log-sum-exp as a tracer writes it: the reduced dimension is kept with size 1, and is indexed by a constant.
#full = affine_map<(i, j) -> (i, j)>
#kept = affine_map<(i, j) -> (i, 0)>
func.func @lse(%x: tensor<?x1024xf32>, %sums: tensor<?x1xf32>, %n: index) -> tensor<?x1024xf32> {
  %small = tensor.empty(%n) : tensor<?x1xf32>
  %large = tensor.empty(%n) : tensor<?x1024xf32>
  %logs = linalg.generic {indexing_maps = [affine_map<(i) -> (i, 0)>, affine_map<(i) -> (i, 0)>], iterator_types = ["parallel"]}
      ins(%sums : tensor<?x1xf32>) outs(%small : tensor<?x1xf32>) {
  ^bb0(%s: f32, %out: f32):
    %l = math.log %s : f32
    linalg.yield %l : f32
  } -> tensor<?x1xf32>
  %shifted = linalg.generic {indexing_maps = [#full, #kept, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %logs : tensor<?x1024xf32>, tensor<?x1xf32>) outs(%large : tensor<?x1024xf32>) {
  ^bb0(%a: f32, %l: f32, %out: f32):
    %d = arith.subf %a, %l : f32
    linalg.yield %d : f32
  } -> tensor<?x1024xf32>
  return %shifted : tensor<?x1024xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %func = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %logs, %shifted = transform.split_handle %generics : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %tile, %loops:2 = transform.structured.fuse %shifted tile_sizes [16, 256]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.apply_patterns to %func {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
