// Payload: data/flow/cse.mlir
// Pass:    CSE of IREE's Flow pipeline.
// Idea:    ops without effects that have the same operands and attributes are computed once.
// Helps:   the expensive op runs once. What is cheap and would be fused into both users is better left double:
//          a value with two uses is harder to fuse.
// Before:  %first = linalg.exp ins(%a) …; %second = linalg.exp ins(%a) …
// After:   one linalg.exp with two uses, one tensor.empty
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op
    transform.yield
  }
}
