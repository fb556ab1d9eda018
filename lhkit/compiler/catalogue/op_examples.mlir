// Instances with more than the smallest has, where what is set must fit together. Each stands alone, between
// blank lines. They may use %other (ops), %value, %param, %any (a parameter) and %loop (an scf.for).

transform.apply_conversion_patterns to %other {
  transform.apply_conversion_patterns.dialect_to_llvm "math"
  transform.apply_conversion_patterns.vector.vector_to_llvm
} with type_converter {
  transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter {use_bare_ptr_call_conv = true}
} {legal_dialects = ["llvm"], partial_conversion} : !transform.any_op

transform.apply_patterns to %other {
  transform.apply_patterns.canonicalization
  transform.apply_patterns.vector.lower_contraction lowering_strategy = dot
} {apply_cse, max_iterations = 4} : !transform.any_op

%new = transform.apply_registered_pass "canonicalize" with options = {"max-iterations" = %param, "top-down" = false} to %other : (!transform.any_op, !transform.param<i64>) -> !transform.any_op

%new = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %other {bufferize_function_boundaries = true, test_analysis_only = true, dump_alias_sets = true} : (!transform.any_op) -> !transform.any_op

transform.foreach %other, %scratch with_zip_shortest : !transform.any_op, !transform.any_op {
^bb0(%one: !transform.any_op, %two: !transform.any_op):
}

%new = transform.foreach %other : !transform.any_op -> !transform.any_op {
^bb0(%each: !transform.any_op):
  %parent = transform.get_parent_op %each {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
  transform.yield %parent : !transform.any_op
}

%call = transform.func.cast_and_call %other(%value) -> %value before %other {
  transform.type_conversion.tensor.cast_shape_dynamic_dims
} : (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) -> !transform.any_op

%new = transform.get_operand %other[all] : (!transform.any_op) -> !transform.any_value

%new = transform.get_result %other[all] : (!transform.any_op) -> !transform.any_value

transform.match.structured.body %structure {elementwise} : !transform.any_op

transform.match.structured.body %structure {reduction_position = 0} : !transform.any_op

transform.match.structured.body %structure {contraction = ["arith.mulf", "arith.addf"]} : !transform.any_op

%sizes = transform.match.structured.dim %structure[all] : (!transform.any_op) -> !transform.param<i64>

transform.match.structured.dim %structure[-1] {reduction} : !transform.any_op

%init = transform.match.structured.init %structure[0] : (!transform.any_op) -> !transform.any_value

transform.match.structured.init %structure[all] {projected_permutation} : !transform.any_op

%input = transform.match.structured.input %structure[0] : (!transform.any_op) -> !transform.any_value

transform.match.structured.input %structure[all] {projected_permutation} : !transform.any_op

%user = transform.match.structured.result %structure[0] {single} : (!transform.any_op) -> !transform.any_op

%user = transform.match.structured.result %structure[0] {any} : (!transform.any_op) -> !transform.any_op

%new = transform.merge_handles deduplicate %other, %scratch : !transform.any_op

%new = transform.sequence %other, %param : !transform.any_op, !transform.param<i64> -> !transform.any_op failures(suppress) {
^bb0(%each: !transform.any_op, %size: !transform.param<i64>):
  transform.yield %each : !transform.any_op
}

%first, %rest = transform.split_handle %other {overflow_result = 1} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

%tiled, %outer, %inner = transform.structured.fuse %other tile_sizes [8, %param] interchange [1, 0] {apply_cleanup} : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)

%tiled, %loop_nest = transform.structured.fuse %other tile_sizes [8, 4] {use_forall} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)

%new = transform.structured.pack_greedily %other matmul_packed_sizes = [8, %scratch, 0] matmul_padded_sizes_next_multiple_of = [0, 0, 16] matmul_inner_dims_order = [1, 2, 0] : (!transform.any_op, !transform.any_op) -> !transform.any_op

%padded, %pad, %copy = transform.structured.pad %other pad_to_multiple_of [8, %param] {padding_dimensions = [0, 1], padding_values = [0.0 : f32, 0.0 : f32], nofold_flags = [1, 0], transpose_paddings = [[1, 0]], copy_back_op = "none"} : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)

%parts = transform.structured.split %other after %param {dimension = 1} : !transform.any_op, !transform.param<i64>

%tiled, %outer, %inner = transform.structured.tile_using_for %other tile_sizes [%param, [8]] interchange = [1, 0] : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op, !transform.any_op)

%tiled, %loops:2 = transform.structured.tile_using_for %other tile_sizes [8, 0, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)

%tiled, %forall = transform.structured.tile_using_forall %other num_threads [4, %param] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)

%tiled, %forall = transform.structured.tile_using_forall %other tile_sizes *(%param) : (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)

transform.structured.vectorize %other vector_sizes [8, [4], %param] {vectorize_nd_extract} : !transform.any_op, !transform.param<i64>

%new = transform.xegpu.insert_prefetch %other nb_prefetch = %param : (!transform.any_op, !transform.param<i64>) -> !transform.any_op
