module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %add = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %add tile_sizes [4, 4]
      : (!transform.any_op)
      -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
