// Payload: layers or products whose right-hand side is a constant, as arguments are that kernel.bind has bound.
// Idea:    the panels into which strips of such an operand are copied leave the loop over strips: a loop before it
//          fills all of them. It reads constants alone, so that lhkit runs it once, when the kernel is built, and
//          calls find the panels packed; other tools run it in every call, which is right too. To be included: a
//          schedule names this file in a comment (lhkit: library parts/packed.mlir) and declares the sequences.
// Knobs:   none.
// Operands are mostly no constants.
// lhkit: allow zero-match, no-effect

module attributes {transform.with_named_sequence} {
  // Fill the panels that hold parts of constants before the loop over strips; gives all of these panels again, each a
  // tensor.pad. The matmuls read them.
  transform.named_sequence @hoist_constant_panels(%root: !transform.any_op {transform.readonly},
      %matmuls: !transform.any_op {transform.readonly}, %panels: !transform.any_op {transform.consumed}) -> !transform.any_op {
    transform.annotate %panels "panel" : !transform.any_op
    transform.foreach %matmuls : !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      %of_constant = transform.structured.match attributes {constant_weights} in %matmul : (!transform.any_op) -> !transform.any_op
      %panel = transform.get_producer_of_operand %of_constant[1] : (!transform.any_op) -> !transform.any_op
      transform.include @hoist_if_in_loop failures(suppress) (%panel) : (!transform.any_op) -> ()
    }
    %all = transform.structured.match attributes {panel} in %root : (!transform.any_op) -> !transform.any_op
    transform.yield %all : !transform.any_op
  }
  // A single strip is in no loop.
  transform.named_sequence private @hoist_if_in_loop(%panel: !transform.any_op {transform.consumed}) {
    %packed = transform.structured.hoist_pad %panel by 1 loops : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  // A matmul whose right-hand side is a constant.
  transform.named_sequence @has_constant_weights(%op: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %weights = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      %producer = transform.match.structured.input %matmul[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %producer : !transform.any_op
    }
    transform.match.operation_name %weights ["arith.constant"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // Go by panels, which are filled beforehand.
  transform.named_sequence @go_by_constant_panels(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "panels" -> !transform.any_param
    transform.annotate %op "layer" = %way : !transform.any_op, !transform.any_param
    transform.annotate %op "constant_weights" : !transform.any_op
    transform.yield
  }
}
