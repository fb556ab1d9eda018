// Payload: data/matmul.mlir, in extents that the tile does not divide.
// Idea:    padded tiles become buffers inside of three loops; buffer-loop-hoisting takes them out, so that each is
//          made once. The entry @in_the_loops leaves them where they are. (The lowering of kernels always hoists.)
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.consumed}) {
    %buffered = transform.include @pad_and_bufferize failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %buffered : (!transform.any_op) -> !transform.any_op
    %hoisted = transform.apply_registered_pass "buffer-loop-hoisting" to %function
      : (!transform.any_op) -> !transform.any_op
    %freed = transform.apply_registered_pass "buffer-deallocation-pipeline" to %buffered
      : (!transform.any_op) -> !transform.any_op
    %lowered = transform.apply_registered_pass "convert-bufferization-to-memref" to %freed
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  transform.named_sequence private @in_the_loops(%root: !transform.any_op {transform.consumed}) {
    %buffered = transform.include @pad_and_bufferize failures(propagate) (%root) : (!transform.any_op) -> !transform.any_op
    %freed = transform.apply_registered_pass "buffer-deallocation-pipeline" to %buffered
      : (!transform.any_op) -> !transform.any_op
    %lowered = transform.apply_registered_pass "convert-bufferization-to-memref" to %freed
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }

  transform.named_sequence private @pad_and_bufferize(%root: !transform.any_op {transform.consumed}) -> !transform.any_op {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %part, %loops:3 = transform.structured.tile_using_for %matmul tile_sizes [192, 192, 192]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %padded, %pads, %back = transform.structured.pad %part pad_to_multiple_of [192, 192, 192]
      {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2], nofold_flags = [1, 1, 1], copy_back_op = "none"}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %buffered = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %root
      {bufferize_function_boundaries = true} : (!transform.any_op) -> !transform.any_op
    transform.yield %buffered : !transform.any_op
  }
}
