// Payload: layers or products whose right-hand side, or a matrix that their epilogue reads (a bias), is a constant, as
//          arguments are that kernel.bind has bound.
// Idea:    the panels into which strips of such an operand are copied leave the loop over strips: a loop before it
//          fills all of them. It reads constants alone, so that lhkit runs it once, when the kernel is built, and
//          calls find the panels packed; other tools run it in every call, which is right too. A matrix that an
//          epilogue reads is copied into panels only where it is a constant: a tile then reads its part of it from
//          adjacent lines, and not from rows that are as far apart as the matrix is wide. To be included: a schedule
//          names this file in a comment (lhkit: library parts/packed.mlir) and declares the sequences.
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
      %of_constant = transform.structured.match attributes {panels_first} in %matmul : (!transform.any_op) -> !transform.any_op
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

  // Copy what strips of epilogues read of a constant matrix into panels, and fill these before the loop over strips;
  // consumes the epilogues, and marks the panels as those of the weights are marked.
  transform.named_sequence @hoist_constant_addends(%epilogues: !transform.any_op {transform.consumed}) {
    transform.foreach %epilogues : !transform.any_op {
    ^bb0(%epilogue: !transform.any_op):
      %of_first = transform.structured.match attributes {constant_input_0 = affine_map<(d0, d1) -> (d0, d1)>} in %epilogue
        : (!transform.any_op) -> !transform.any_op
      %of_second = transform.structured.match attributes {constant_input_1 = affine_map<(d0, d1) -> (d0, d1)>} in %epilogue
        : (!transform.any_op) -> !transform.any_op
      // Padding by nothing that may not be folded away is a copy.
      %packed, %panel, %copy_back = transform.structured.pad %of_first
        {padding_dimensions = [1], nofold_flags = [1], copy_back_op = "none"}
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
      %packed_1, %panel_1, %copy_back_1 = transform.structured.pad %of_second
        {padding_dimensions = [1], nofold_flags = [0, 1], copy_back_op = "none"}
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
      %panels = transform.merge_handles %panel, %panel_1 : !transform.any_op
      transform.annotate %panels "panel" : !transform.any_op
      transform.include @hoist_if_in_loop failures(suppress) (%panels) : (!transform.any_op) -> ()
    }
    transform.yield
  }

  // Mark the ops by elements whose first or second operand is a constant matrix, with the map by which it is read.
  transform.named_sequence @mark_constant_addends(%root: !transform.any_op {transform.readonly}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.foreach_match in %function
      @reads_constant_first -> @mark_first_input, @reads_constant_second -> @mark_second_input
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
  transform.named_sequence private @reads_constant_first(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %addend, %map = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.any_op, !transform.affine_map) {
    ^bb0(%generic: !transform.any_op):
      %producer = transform.match.structured.input %generic[0] : (!transform.any_op) -> !transform.any_op
      %read_by = transform.match.structured.input %generic[0] : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %producer, %read_by : !transform.any_op, !transform.affine_map
    }
    transform.match.operation_name %addend ["arith.constant"] : !transform.any_op
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @reads_constant_second(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.affine_map) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %addend, %map = transform.match.structured failures(propagate) %op
      : (!transform.any_op) -> (!transform.any_op, !transform.affine_map) {
    ^bb0(%generic: !transform.any_op):
      %producer = transform.match.structured.input %generic[1] : (!transform.any_op) -> !transform.any_op
      %read_by = transform.match.structured.input %generic[1] : (!transform.any_op) -> !transform.affine_map
      transform.match.structured.yield %producer, %read_by : !transform.any_op, !transform.affine_map
    }
    transform.match.operation_name %addend ["arith.constant"] : !transform.any_op
    transform.yield %op, %map : !transform.any_op, !transform.affine_map
  }
  transform.named_sequence private @mark_first_input(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "constant_input_0" = %map : !transform.any_op, !transform.affine_map
    transform.yield
  }
  transform.named_sequence private @mark_second_input(%op: !transform.any_op {transform.readonly},
      %map: !transform.affine_map {transform.readonly}) {
    transform.annotate %op "constant_input_1" = %map : !transform.any_op, !transform.affine_map
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
  // A matmul whose right-hand side is a transposed constant is marked, since the transpose will be loops.
  transform.named_sequence @note_transposed_constant(%matmul: !transform.any_op {transform.readonly}) {
    %same = transform.include @reads_transposed_constant failures(propagate) (%matmul) : (!transform.any_op) -> !transform.any_op
    transform.annotate %same "of_constant" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @reads_transposed_constant(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    %transpose = transform.match.structured failures(propagate) %op : (!transform.any_op) -> !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      %producer = transform.match.structured.input %matmul[1] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %producer : !transform.any_op
    }
    transform.match.operation_name %transpose ["linalg.transpose"] : !transform.any_op
    %weights = transform.match.structured failures(propagate) %transpose : (!transform.any_op) -> !transform.any_op {
    ^bb0(%linalg: !transform.any_op):
      %producer = transform.match.structured.input %linalg[0] : (!transform.any_op) -> !transform.any_op
      transform.match.structured.yield %producer : !transform.any_op
    }
    transform.match.operation_name %weights ["arith.constant"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  // Those go by panels too, but for tiles that are small.
  transform.named_sequence @panels_of_marked_constants(%root: !transform.any_op {transform.readonly}) {
    %by_rows = transform.structured.match attributes {of_constant, layer = "rows"} in %root : (!transform.any_op) -> !transform.any_op
    %by_strips = transform.structured.match attributes {of_constant, layer = "strips"} in %root : (!transform.any_op) -> !transform.any_op
    %by_panels = transform.structured.match attributes {of_constant, layer = "panels"} in %root : (!transform.any_op) -> !transform.any_op
    %all = transform.merge_handles %by_rows, %by_strips, %by_panels : !transform.any_op
    transform.foreach %all : !transform.any_op {
    ^bb0(%each: !transform.any_op):
      transform.include @go_by_constant_panels failures(propagate) (%each) : (!transform.any_op) -> ()
    }
    transform.yield
  }
  // Go by panels, which are filled beforehand.
  transform.named_sequence @go_by_constant_panels(%op: !transform.any_op {transform.readonly}) {
    %way = transform.param.constant "panels" -> !transform.any_param
    transform.annotate %op "layer" = %way : !transform.any_op, !transform.any_param
    transform.annotate %op "panels_first" : !transform.any_op
    transform.yield
  }
}
