// Payload: data/flow/outline_dispatches.mlir
// Pass:    OutlineDispatchRegions of IREE's Flow pipeline.
// Idea:    each piece of work becomes a function, and a call of it is left where it was. In IREE the function is
//          the only entry of an executable, and the call says how many workgroups run it; here the loop over the
//          workgroups is inside of the function.
// Helps:   pieces are compiled, timed and replaced one by one (lhkit.replace_with_call).
// Before:  scf.forall { linalg.fill; linalg.matmul; linalg.add }
// After:   call @layer(%lhs, %rhs, %bias, …), and func.func @layer with the loop in it
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %sum = transform.structured.match ops{["linalg.add"]} in %root : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %fill = transform.structured.match ops{["linalg.fill"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %grid = transform.structured.tile_using_forall %sum tile_sizes [8, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product_tile, %grid_1 = transform.structured.fuse_into_containing_op %product into %grid
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fill_tile, %grid_2 = transform.structured.fuse_into_containing_op %fill into %grid_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %dispatch, %call = transform.loop.outline %grid_2 {func_name = "layer"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    // The ops that were fused are dead outside, and the call is wrapped in a region.
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
