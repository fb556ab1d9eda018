// producer: 14
// consumer: 28
// cause: wrong-order
// repair: yes
// Gate and value of an MLP read one normalized matrix; both are tiled, and both want it in their loop.
#mn = affine_map<(m, n) -> (m, n)>
#m = affine_map<(m, n) -> (m)>
module {
  func.func @gates(%x: tensor<?x512xf64>, %norm: tensor<?xf64>) -> (tensor<?x512xf64>, tensor<?x512xf64>) {
    %c0 = arith.constant 0 : index
    %half = arith.constant 0.5 : f64
    %m = tensor.dim %x, %c0 : tensor<?x512xf64>
    %e0 = tensor.empty(%m) : tensor<?x512xf64>
    %normed = linalg.generic {indexing_maps = [#mn, #m, #mn], iterator_types = ["parallel", "parallel"]}
        ins(%x, %norm : tensor<?x512xf64>, tensor<?xf64>) outs(%e0 : tensor<?x512xf64>) attrs = {role = "norm"} {
    ^bb0(%v: f64, %s: f64, %out: f64):
      %q = arith.divf %v, %s : f64
      linalg.yield %q : f64
    } -> tensor<?x512xf64>
    %e1 = tensor.empty(%m) : tensor<?x512xf64>
    %gate = linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
        ins(%normed : tensor<?x512xf64>) outs(%e1 : tensor<?x512xf64>) attrs = {role = "gate"} {
    ^bb0(%v: f64, %out: f64):
      %t = math.tanh %v : f64
      linalg.yield %t : f64
    } -> tensor<?x512xf64>
    %e2 = tensor.empty(%m) : tensor<?x512xf64>
    %value = linalg.generic {indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}
        ins(%normed : tensor<?x512xf64>) outs(%e2 : tensor<?x512xf64>) attrs = {role = "value"} {
    ^bb0(%v: f64, %out: f64):
      %t = arith.mulf %v, %half : f64
      linalg.yield %t : f64
    } -> tensor<?x512xf64>
    return %gate, %value : tensor<?x512xf64>, tensor<?x512xf64>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %norm = transform.structured.match ops{["linalg.generic"]} attributes{role = "norm"} in %root : (!transform.any_op) -> !transform.any_op
    %gate = transform.structured.match ops{["linalg.generic"]} attributes{role = "gate"} in %root : (!transform.any_op) -> !transform.any_op
    %value = transform.structured.match ops{["linalg.generic"]} attributes{role = "value"} in %root : (!transform.any_op) -> !transform.any_op

    %gate_tile, %gate_loop = transform.structured.tile_using_forall %gate tile_sizes [8, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %value_tile, %value_loop = transform.structured.tile_using_forall %value tile_sizes [8, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The norm per tile.
    %norm_tile, %with_norm = transform.structured.fuse_into_containing_op %norm into %gate_loop
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
