// Payload: layers, a linalg.matmul each whose result may be read by an op that works by elements; @merge_epilogues of
//          parts/layers.mlir has marked where they end.
// Idea:    the step that gives each thread its share, to be included before anything is tiled: a schedule names this
//          file and parts/cpu.mlir in comments (lhkit: library parts/threads.mlir), declares the sequence that it
//          includes, and has a knob named threads: its value is also on how many threads the kernel runs.
// Knobs:   none.
// What a payload does not have is not found.
// lhkit: allow zero-match, no-effect, tile-size-too-large, tile-size-whole

module attributes {transform.with_named_sequence} {
  // Give each thread some columns of a layer's result, and with them those of the matmul and of the fill that it
  // starts from: no thread packs what another one packs. A single thread's share is all, and no loop is left.
  transform.named_sequence @share_layers_among_threads(%root: !transform.any_op {transform.readonly},
      %threads: !transform.param<i64> {transform.readonly}) {
    %matmuls = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.foreach %matmuls : !transform.any_op {
    ^bb0(%matmul: !transform.any_op):
      %fill = transform.include @fill_or_nothing failures(suppress) (%matmul) : (!transform.any_op) -> !transform.any_op
      %with_epilogue = transform.structured.match attributes {end = "epilogue"} in %matmul : (!transform.any_op) -> !transform.any_op
      %layer = transform.include @ends_of failures(propagate) (%matmul) : (!transform.any_op) -> !transform.any_op
      %share, %shares = transform.structured.tile_using_forall %layer num_threads [0, %threads]
        : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
      %matmul_share, %shares_1 = transform.structured.fuse_into_containing_op %with_epilogue into %shares
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
      %fill_share, %shares_2 = transform.structured.fuse_into_containing_op %fill into %shares_1
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // The fill that a matmul starts from; nothing where it starts from something else.
  transform.named_sequence private @fill_or_nothing(%matmul: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %fill = transform.include @fill_of failures(propagate) (%matmul) : (!transform.any_op) -> !transform.any_op
    transform.yield %fill : !transform.any_op
  }
  transform.named_sequence private @fill_of(%matmul: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %init = transform.get_producer_of_operand %matmul[2] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %init ["linalg.fill"] : !transform.any_op
    transform.yield %init : !transform.any_op
  }

  // In parts/layers.mlir:
  transform.named_sequence private @ends_of(!transform.any_op {transform.readonly}) -> !transform.any_op
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
