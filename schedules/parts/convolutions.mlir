// Payload: convolutions and poolings of linalg on tensors, in any layout; the sequences say what each takes.
// Idea:    the steps for convolutions of any kind, to be included: a schedule names this file and parts/cpu.mlir in
//          comments (lhkit: library parts/convolutions.mlir) and declares the sequences that it includes.
// Knobs:   none.
// What a payload does not have is not found, as where tiles come out even.
// lhkit: allow zero-match, no-effect, tile-size-too-large

module attributes {transform.with_named_sequence} {
  // Write convolutions that sum over channels as contractions of their windows with the filter; gives the ops that copy
  // windows, at most so many elements at once.
  transform.named_sequence @convolutions_to_contractions(%root: !transform.any_op {transform.readonly},
      %elements: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %generic = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %windows = transform.foreach %generic : !transform.any_op -> !transform.any_op {
    ^bb0(%each: !transform.any_op):
      %copy = transform.include @try_convolution failures(suppress) (%each, %elements)
        : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
      transform.yield %copy : !transform.any_op
    }
    transform.annotate %windows "windows" : !transform.any_op
    transform.yield %windows : !transform.any_op
  }
  transform.named_sequence private @try_convolution(%op: !transform.any_op {transform.consumed},
      %elements: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %windows = transform.include @write_as_contraction failures(propagate) (%op, %elements)
      : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
    transform.yield %windows : !transform.any_op
  }
  transform.named_sequence private @write_as_contraction(%op: !transform.any_op {transform.consumed},
      %elements: !transform.param<i64> {transform.readonly}) -> !transform.any_op {
    %contraction, %windows = "lhkit.convolution_to_contraction"(%op, %elements)
      : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)
    transform.yield %windows : !transform.any_op
  }
}
