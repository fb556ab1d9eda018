// Payload: data/flow/form_workgroups.mlir
// Pass:    FormDispatchWorkgroups of IREE's Flow pipeline.
// Idea:    a region becomes a grid of workgroups: the last op is divided into tiles, and what computes its operands
//          is pulled into the loop over them. IREE's workgroups load and store parts of tensors; here these are
//          slices of a scf.forall.
// Helps:   workgroups run side by side, and each computes its tile of the product where it adds to it.
// Before:  scf.execute_region { linalg.fill, linalg.matmul, linalg.add }
// After:   scf.forall (%i, %j) in (2, 3) { linalg.fill, linalg.matmul, linalg.add, all of 8x4 }
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %region = "lhkit.form_dispatch_regions"(%function) : (!transform.any_op) -> !transform.any_op
    %sum = transform.structured.match ops{["linalg.add"]} in %region : (!transform.any_op) -> !transform.any_op
    %product = transform.structured.match ops{["linalg.matmul"]} in %region
      : (!transform.any_op) -> !transform.any_op
    %fill = transform.structured.match ops{["linalg.fill"]} in %region : (!transform.any_op) -> !transform.any_op
    %tile, %grid = transform.structured.tile_using_forall %sum tile_sizes [8, 4]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %product_tile, %grid_1 = transform.structured.fuse_into_containing_op %product into %grid
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fill_tile, %grid_2 = transform.structured.fuse_into_containing_op %fill into %grid_1
      : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %function {
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
