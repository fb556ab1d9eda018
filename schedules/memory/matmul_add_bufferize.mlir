// Payload: data/memory/matmul_add.mlir.
// Idea:    destination passing. What is materialized in a destination can be computed there from the start if the
//          empty tensor that it is written to is taken away; the entry @with_empty_tensors leaves it, and a buffer
//          and a copy with it. (The lowering of kernels always eliminates them.)
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %function = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.bufferization.eliminate_empty_tensors %function : !transform.any_op
    transform.include @bufferize_and_free failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  transform.named_sequence private @with_empty_tensors(%root: !transform.any_op {transform.consumed}) {
    transform.include @bufferize_and_free failures(propagate) (%root) : (!transform.any_op) -> ()
    transform.yield
  }

  transform.named_sequence private @bufferize_and_free(%root: !transform.any_op {transform.consumed}) {
    %buffered = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %root
      {bufferize_function_boundaries = true} : (!transform.any_op) -> !transform.any_op
    %freed = transform.apply_registered_pass "buffer-deallocation-pipeline" to %buffered
      : (!transform.any_op) -> !transform.any_op
    %lowered = transform.apply_registered_pass "convert-bufferization-to-memref" to %freed
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
