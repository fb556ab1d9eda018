// Payload: matmuls of f32, each read by one op that works by elements, such as a bias and a ReLU; the sequences say
//          what each takes.
// Idea:    the steps that fc_relu.mlir and mlp.mlir share, to be included: a schedule names this file and
//          parts/cpu.mlir in comments (lhkit: library parts/layers.mlir) and declares the sequences that it includes.
// Knobs:   none.
// What a payload does not have is not found, as where tiles come out even.
// lhkit: allow zero-match, no-effect, tile-size-too-large

module attributes {transform.with_named_sequence} {
  // Make one op of all that is computed from a matmul's result element by element: the epilogue.
  transform.named_sequence @merge_epilogues(%root: !transform.any_op {transform.readonly}) {
    %named = transform.structured.match ops{["linalg.add", "linalg.broadcast", "linalg.max", "linalg.min", "linalg.mul",
      "linalg.sub"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %generic = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %merged = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  // The op that reads a matmul's result.
  transform.named_sequence @epilogues_of(%matmuls: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %epilogues = transform.foreach %matmuls : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %epilogue = transform.get_consumers_of_result %each[0] : (!transform.any_op) -> !transform.any_op
      transform.yield %epilogue : !transform.any_op
    }
    transform.yield %epilogues : !transform.any_op
  }

  // The matmuls in loops.
  transform.named_sequence private @matmuls_in(%loops: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %matmuls = transform.foreach %loops : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %matmul = transform.structured.match ops{["linalg.matmul"]} in %each : (!transform.any_op) -> !transform.any_op
      transform.yield %matmul : !transform.any_op
    }
    transform.yield %matmuls : !transform.any_op
  }

  // Cut layers into strips of columns, a layer being a matmul with its epilogue; gives the matmuls of wide strips, of
  // strips as wide as a vector, and of the narrower ones at the end.
  transform.named_sequence @cut_layers_into_strips(%root: !transform.any_op {transform.readonly}, %matmuls: !transform.any_op {transform.readonly},
      %tile_n: !transform.param<i64> {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly})
      -> (!transform.any_op, !transform.any_op, !transform.any_op) {
    %layers = transform.include @epilogues_of failures(propagate) (%matmuls) : (!transform.any_op) -> !transform.any_op
    %strip, %strips = transform.structured.fuse %layers tile_sizes [0, %tile_n]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %in_strips = transform.include @matmuls_in failures(propagate) (%strips) : (!transform.any_op) -> !transform.any_op
    %wide, %others = transform.include @split_off_rest failures(propagate) (%root, %in_strips, %strips)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %layers_1 = transform.include @epilogues_of failures(propagate) (%others) : (!transform.any_op) -> !transform.any_op
    %strip_1, %strips_1 = transform.structured.fuse %layers_1 tile_sizes [0, %lanes]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %in_strips_1 = transform.include @matmuls_in failures(propagate) (%strips_1) : (!transform.any_op) -> !transform.any_op
    %narrow, %last = transform.include @split_off_rest failures(propagate) (%root, %in_strips_1, %strips_1)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield %wide, %narrow, %last : !transform.any_op, !transform.any_op, !transform.any_op
  }

  // Cut layers into tiles of so many rows, the rows left at the bottom apart; gives the matmuls.
  transform.named_sequence @cut_layers_into_tiles(%root: !transform.any_op {transform.readonly}, %matmuls: !transform.any_op {transform.readonly},
      %tile_m: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %layers = transform.include @epilogues_of failures(propagate) (%matmuls) : (!transform.any_op) -> !transform.any_op
    %tile, %tiles = transform.structured.fuse %layers tile_sizes [%tile_m]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    %in_tiles = transform.include @matmuls_in failures(propagate) (%tiles) : (!transform.any_op) -> !transform.any_op
    %whole, %bottom = transform.include @split_off_rest failures(propagate) (%root, %in_tiles, %tiles)
      : (!transform.any_op, !transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %both = transform.merge_handles %whole, %bottom : !transform.any_op
    transform.yield %both : !transform.any_op
  }

  // Copy the columns of the right-hand side that a strip reads into a panel without gaps; gives the matmuls again.
  transform.named_sequence @pack_panels(%matmuls: !transform.any_op {transform.consumed},
      %columns: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    // Padding by nothing that may not be folded away is a copy.
    %packed, %panels, %copy_back = transform.structured.pad %matmuls
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [1], nofold_flags = [0, 1, 0], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.include @vectorize_rows failures(propagate) (%panels, %columns)
      : (!transform.any_op, !transform.param<i64>) -> ()
    transform.yield %packed : !transform.any_op
  }

  // In parts/cpu.mlir:
  transform.named_sequence private @split_off_rest(!transform.any_op {transform.readonly},
    !transform.any_op {transform.readonly}, !transform.any_op {transform.consumed})
    -> (!transform.any_op, !transform.any_op)
  transform.named_sequence private @vectorize_rows(!transform.any_op {transform.consumed},
    !transform.param<i64> {transform.readonly})
}
