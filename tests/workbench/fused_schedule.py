"""The schedule that most tests of workbenches open."""

FUSED = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %relu = transform.structured.match ops{["linalg.max"]} in %root : (!transform.any_op) -> !transform.any_op
    %sum = transform.get_producer_of_operand %relu[0] : (!transform.any_op) -> !transform.any_op
    %tile = transform.tune.knob<"tile"> = 8 : i64 from options = [4, 8, 16] -> !transform.param<i64>
    %relu_tile, %forall = transform.structured.tile_using_forall %relu tile_sizes [%tile, %tile]
      : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %sum_tile, %forall_1 = transform.structured.fuse_into_containing_op %sum into %forall
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
"""
# Numbers of the steps in its trace.
RELU, SUM, KNOB, TILE, FUSE = 0, 1, 2, 3, 4
