// Payload: data/flow/dispatch_by_schedule.mlir
// Pass:    DispatchWithTransformDialect of IREE's Flow pipeline.
// Idea:    a file of rules says how work is divided: each op is matched against them in order, and the action of
//          the first that fits is applied. What IREE's pass does with such a file the interpreter does here.
// Helps:   the strategy is data. Other rules divide the work in another way, and the compiler stays as it is.
// Before:  linalg.matmul, linalg.add
// After:   scf.forall over tiles of 8x4 with a matmul, scf.forall over rows with an add
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    transform.foreach_match in %root
        @is_product -> @by_tiles,
        @is_elementwise -> @by_rows
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  transform.named_sequence private @is_product(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @by_tiles(%op: !transform.any_op {transform.consumed}) {
    %tile, %grid = transform.structured.tile_using_forall %op tile_sizes [8, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }

  transform.named_sequence private @is_elementwise(%op: !transform.any_op {transform.readonly})
      -> !transform.any_op {
    transform.match.operation_name %op ["linalg.add", "linalg.mul", "linalg.max"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence private @by_rows(%op: !transform.any_op {transform.consumed}) {
    %row, %grid = transform.structured.tile_using_forall %op tile_sizes [1]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
