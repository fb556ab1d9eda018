// Payload: data/flow/apply_patterns.mlir
// Pass:    ApplyPatterns of IREE's Flow pipeline.
// Idea:    blocks that one branch enters are merged, and arguments of blocks that are known become values.
//          IREE's pass has patterns of its util dialect besides, which upstream has no counterpart of.
// Helps:   one block is what most other steps want: matching, tiling and fusing stay inside of a block.
// Before:  cf.br ^scaled(%factors, %factors) … cf.br ^end(%twice)
// After:   one block without arguments of its own
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
