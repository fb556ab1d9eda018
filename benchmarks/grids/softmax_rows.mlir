// Payload: data/softmax.mlir, or another softmax along the rows of f32 matrices, in extents that tiles divide.
// Idea:    schedules/softmax.mlir with its choices as knobs, 576 variants: made to be swept.
// Knobs:   rows: rows of a tile; exp_columns, div_columns: columns of a tile of exponentials and of quotients;
//          maxima, sums: which number of partial maxima and sums a row has: 8, 32, 64, 128.
// lhkit: library parts/cpu.mlir
// lhkit: library parts/rows.mlir
// lhkit: allow zero-match, no-effect, tile-size-too-large

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %rows = transform.tune.knob<"rows"> = 1 : i64 from options = [1, 2, 4] -> !transform.param<i64>
    %exp_columns = transform.tune.knob<"exp_columns"> = 32 : i64 from options = [8, 16, 32, 64] -> !transform.param<i64>
    %div_columns = transform.tune.knob<"div_columns"> = 32 : i64 from options = [8, 32, 128] -> !transform.param<i64>

    transform.include @generalize_row_ops failures(propagate) (%root) : (!transform.any_op) -> ()
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    %return = transform.structured.match ops{["func.return"]} in %root : (!transform.any_op) -> !transform.any_op
    %last = transform.get_producer_of_operand %return[0] : (!transform.any_op) -> !transform.any_op
    %row, %row_loop = transform.structured.fuse %last tile_sizes [%rows]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.include @share_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()

    // Maxima, exponentials, sums, quotients.
    %ops = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %max, %exp, %sum, %quotient = transform.split_handle %ops
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.tune.alternatives<"maxima"> selected_region = 2 {
      %fill_0, %part_0, %total_0, %loop_0 = transform.structured.tile_reduction_using_for %max by tile_sizes = [0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }, {
      %fill_0, %part_0, %total_0, %loop_0 = transform.structured.tile_reduction_using_for %max by tile_sizes = [0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }, {
      %fill_0, %part_0, %total_0, %loop_0 = transform.structured.tile_reduction_using_for %max by tile_sizes = [0, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }, {
      %fill_0, %part_0, %total_0, %loop_0 = transform.structured.tile_reduction_using_for %max by tile_sizes = [0, 128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }
    %tile_1, %loop_1 = transform.structured.tile_using_for %exp tile_sizes [0, %exp_columns]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.tune.alternatives<"sums"> selected_region = 2 {
      %fill_2, %part_2, %total_2, %loop_2 = transform.structured.tile_reduction_using_for %sum by tile_sizes = [0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }, {
      %fill_2, %part_2, %total_2, %loop_2 = transform.structured.tile_reduction_using_for %sum by tile_sizes = [0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }, {
      %fill_2, %part_2, %total_2, %loop_2 = transform.structured.tile_reduction_using_for %sum by tile_sizes = [0, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }, {
      %fill_2, %part_2, %total_2, %loop_2 = transform.structured.tile_reduction_using_for %sum by tile_sizes = [0, 128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    }
    %tile_3, %loop_3 = transform.structured.tile_using_for %quotient tile_sizes [0, %div_columns]
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @vectorize_row_tiles failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @relax_arithmetic failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.include @expand_math_in_rows failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // In parts/rows.mlir:
  transform.named_sequence private @generalize_row_ops(!transform.any_op {transform.readonly})
  transform.named_sequence private @share_in_rows(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_row_tiles(!transform.any_op {transform.readonly})
  transform.named_sequence private @relax_arithmetic(!transform.any_op {transform.readonly})
  transform.named_sequence private @expand_math_in_rows(!transform.any_op {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
