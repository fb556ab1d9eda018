// Payload: data/flow/interchange.mlir
// Pass:    InterchangeGenericOps of IREE's Flow pipeline.
// Idea:    loops of the result outside, loops of reductions inside; the permutation follows from the op.
//          Where it is known beforehand, transform.structured.interchange takes it.
// Helps:   tiles of the result are outside, where they can be fused and divided among threads.
// Before:  iterator_types = ["reduction", "parallel"]
// After:   iterator_types = ["parallel", "reduction"]
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sum = transform.structured.match ops{["linalg.generic"]} in %root : (!transform.any_op) -> !transform.any_op
    %ordered = "lhkit.interchange_reductions"(%sum) : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
