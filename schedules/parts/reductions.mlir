// Payload: ops on tensors that reduce some of their loops, of any rank, maps and element types.
// Idea:    .
// Knobs:   none.
// Result:  .
// lhkit: allow zero-match, no-effect, tile-size-too-large, unused-handle

module attributes {transform.with_named_sequence} {
  transform.named_sequence @schedule_reductions(%root: !transform.any_op {transform.readonly}, %lanes: !transform.param<i64> {transform.readonly}) {
    transform.include @clean_up failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  // In parts/inner.mlir:
  transform.named_sequence private @order_loops(!transform.any_op {transform.readonly})
  transform.named_sequence private @cut_into_rows(!transform.any_op {transform.readonly})
  transform.named_sequence private @vectorize_rows_of_any(!transform.any_op {transform.readonly}, !transform.param<i64> {transform.readonly})
  // In parts/cpu.mlir:
  transform.named_sequence private @clean_up(!transform.any_op {transform.readonly})
}
