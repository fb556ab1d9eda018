// Payload: data/flow/matmul_to_mmt4d.mlir
// Pass:    ConvertLinalgMatmulToMmt4D of IREE's Flow pipeline.
// Idea:    operands are laid out in tiles that the innermost loops read front to back; the right side
//          transposed. Edges are padded by the packs.
// Helps:   rows that are read one after another share a page and a cache line; edges need no masks.
// Before:  linalg.matmul of tensor<13x11xf32> and tensor<11x19xf32>
// After:   linalg.pack of both, linalg.mmt4d of their tiles, linalg.unpack
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    %packed = transform.apply_registered_pass "linalg-block-pack-matmul" with options = {
        "block-factors" = [8, 4, 2], "mnk-order" = [0, 1, 2], "lhs-transpose-outer-blocks" = false,
        "lhs-transpose-inner-blocks" = false, "rhs-transpose-outer-blocks" = true,
        "rhs-transpose-inner-blocks" = true, "allow-padding" = true} to %function
      : (!transform.any_op) -> !transform.any_op
    %named = transform.apply_registered_pass "linalg-specialize-generic-ops" to %packed
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
