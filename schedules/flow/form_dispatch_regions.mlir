// Payload: data/flow/form_dispatch_regions.mlir
// Pass:    FormDispatchRegions of IREE's Flow pipeline.
// Idea:    each reduction and the elementwise ops that end it are one piece of work, in a region. Nothing is tiled.
//          scf.execute_region holds it, with no_inline: a canonicalization would take a plain one apart.
// Helps:   the pieces are known before it is decided how each is divided and computed.
// Before:  linalg.matmul, linalg.add, linalg.max, linalg.matmul, linalg.add, linalg.max
// After:   scf.execute_region { linalg.fill, linalg.matmul, linalg.add, linalg.max }, twice
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %regions = "lhkit.form_dispatch_regions"(%function) : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
