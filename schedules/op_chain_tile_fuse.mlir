// Payload: data/op_chain.mlir, or any long program of elementwise linalg ops that ends with a linalg.abs.
// Idea:    handles that hold a thousand payload ops: the last op is tiled and all the others follow into its
//          loop, clean-ups remove what they leave behind, every op becomes a linalg.generic, and what stands
//          in a row becomes one op, so that no intermediate tensor is left.
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %last = transform.structured.match ops{["linalg.abs"]} in %root : (!transform.any_op) -> !transform.any_op
    %last_tile, %loop = transform.structured.fuse %last tile_sizes [64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op

    // Matched in the function: a loop of one tile is folded, and %loop would be a handle to nothing. The tile of the
    // last op is among them: generalizing kills %last_tile, which points to the same op.
    %named = transform.structured.match interface{LinalgOp} in %function : (!transform.any_op) -> !transform.any_op
    %generics = transform.structured.generalize %named : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %function : !transform.any_op

    // A pass may change anything, so it kills every handle to what is inside.
    %fused = transform.apply_registered_pass "linalg-fuse-elementwise-ops" to %function
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
