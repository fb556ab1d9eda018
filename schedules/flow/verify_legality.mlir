// Payload: data/flow/verify_legality.mlir
// Pass:    VerifyInputLegality of IREE's Flow pipeline.
// Idea:    a guard: the schedule fails, and names each op that the steps after it do not know. These are the ops of
//          TOSA, which frontends hand over, and those on buffers, which are decided on after all of this.
// Helps:   the failure says what was to be converted, and not three steps later that nothing was matched.
// Before:  a payload that may have any op
// After:   the same payload, or an error with the place of each op that is not legal
// Knobs:   none.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %tosa = transform.structured.match ops{[
        "tosa.abs", "tosa.add", "tosa.add_shape", "tosa.apply_scale", "tosa.argmax", "tosa.arithmetic_right_shift",
        "tosa.assert_equal_shape", "tosa.avg_pool2d", "tosa.avg_pool2d_adaptive", "tosa.bitwise_and",
        "tosa.bitwise_not", "tosa.bitwise_or", "tosa.bitwise_xor", "tosa.cast", "tosa.cast_from_block_scaled",
        "tosa.cast_to_block_scaled", "tosa.ceil", "tosa.clamp", "tosa.clz", "tosa.concat", "tosa.concat_shape",
        "tosa.cond_if", "tosa.const", "tosa.const_shape", "tosa.conv2d", "tosa.conv2d_block_scaled", "tosa.conv3d",
        "tosa.cos", "tosa.custom", "tosa.depthwise_conv2d", "tosa.dim", "tosa.div_ceil_shape", "tosa.div_floor_shape",
        "tosa.equal", "tosa.erf", "tosa.exp", "tosa.exp2_shape", "tosa.fft2d", "tosa.floor", "tosa.gather",
        "tosa.greater", "tosa.greater_equal", "tosa.identity", "tosa.intdiv", "tosa.log", "tosa.log2_ceil_shape",
        "tosa.log2_floor_shape", "tosa.logical_and", "tosa.logical_left_shift", "tosa.logical_not", "tosa.logical_or",
        "tosa.logical_right_shift", "tosa.logical_xor", "tosa.matmul", "tosa.matmul_t", "tosa.matmul_t_block_scaled",
        "tosa.max_pool2d", "tosa.max_pool2d_adaptive", "tosa.max_shape", "tosa.maximum", "tosa.min_shape",
        "tosa.minimum", "tosa.mod_shape", "tosa.mul", "tosa.mul_shape", "tosa.negate", "tosa.pad", "tosa.pow",
        "tosa.reciprocal", "tosa.reduce_all", "tosa.reduce_any", "tosa.reduce_max", "tosa.reduce_min",
        "tosa.reduce_product", "tosa.reduce_sum", "tosa.rescale", "tosa.reshape", "tosa.reshape_block_scaled",
        "tosa.resize", "tosa.reverse", "tosa.rfft2d", "tosa.row_gather", "tosa.row_gather_block_scaled", "tosa.rsqrt",
        "tosa.scatter", "tosa.select", "tosa.sigmoid", "tosa.sin", "tosa.slice", "tosa.slice_shape", "tosa.sub",
        "tosa.sub_shape", "tosa.table", "tosa.tanh", "tosa.tile", "tosa.transpose", "tosa.transpose_conv2d",
        "tosa.variable", "tosa.variable_read", "tosa.variable_write", "tosa.while_loop"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %tosa, "this is an op of a frontend: convert it to linalg first (pass tosa-to-linalg-pipeline)" : !transform.any_op
    %buffers = transform.structured.match ops{[
        "memref.alloc", "memref.alloca", "memref.copy", "memref.dealloc", "memref.get_global", "memref.load",
        "memref.store", "memref.subview"]} in %root : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %buffers, "this works on a buffer: the steps here take tensors (lhkit.memrefs_to_tensors)" : !transform.any_op
    %illegal = transform.merge_handles %tosa, %buffers : !transform.any_op
    %found = transform.num_associations %illegal : (!transform.any_op) -> !transform.param<i64>
    %none = transform.param.constant 0 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %found, %none : !transform.param<i64>
    transform.yield
  }
}
