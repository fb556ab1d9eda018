// Payload: data/flow/canonicalize.mlir
// Pass:    Canonicalizer of IREE's Flow pipeline.
// Idea:    each dialect's own simplifications, greedily: constants are folded, types get their extents, casts and
//          dead ops go. transform.apply_patterns.canonicalization applies the same patterns and keeps handles.
// Helps:   steps match the plain form of an op, so rewrites are followed by it.
// Before:  %abs = linalg.abs ins(%whole : tensor<?x6xf32>) …
// After:   %abs = linalg.abs ins(%a : tensor<4x6xf32>) …
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %canonical = transform.apply_registered_pass "canonicalize" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
