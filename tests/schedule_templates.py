"""Transform ops in forms that make sense somewhere: what generated schedules are made of.

A template is ``results <- text : signature``. Results are kinds of ops (see `schedule_payloads`), ``V`` for values,
``P`` for parameters. In the text ``<kind>`` is a handle to read and ``<!kind>`` one that is consumed; ``any`` is any
handle to ops. ``O``, ``V`` and ``P`` in the signature are the types.

Forms that the compiler itself handles wrongly are left out: pipelining a loop and one inside of it gives a handle to
an op that is no more, so does packing a product of memrefs, and splitting a handle with an overflow into too few ends the process.
"""

TEMPLATES = r"""
linalg <- structured.match interface{LinalgOp} in <func> : (O) -> O
inner <- structured.match ops{["memref.load"]} in <for> : (O) -> O
any <- structured.match attributes {mark} in <func> : (O) -> O
matmul for for <- structured.tile_using_for <!matmul> tile_sizes [4, 2] : (O) -> (O, O, O)
add for <- structured.tile_using_for <!add> tile_sizes [0, 4] : (O) -> (O, O)
generic for <- structured.tile_using_for <!generic> tile_sizes [4] : (O) -> (O, O)
fill for <- structured.tile_using_for <!fill> tile_sizes [4] : (O) -> (O, O)
matmul for <- structured.tile_using_for <!matmul> tile_sizes [<P>] : (O, P) -> (O, O)
matmul forall <- structured.tile_using_forall <!matmul> tile_sizes [4] : (O) -> (O, O)
add forall <- structured.tile_using_forall <!add> num_threads [2] : (O) -> (O, O)
generic forall <- structured.tile_using_forall <!generic> tile_sizes [4] : (O) -> (O, O)
fill forall <- structured.fuse_into_containing_op <!fill> into <forall> : (O, O) -> (O, O)
matmul forall <- structured.fuse_into_containing_op <!matmul> into <forall> : (O, O) -> (O, O)
matmul for <- structured.fuse <!matmul> tile_sizes [4] interchange [0] : (O) -> (O, O)
add for <- structured.fuse <!add> tile_sizes [4] interchange [0] : (O) -> (O, O)
generic <- structured.generalize <!add> : (O) -> O
generic <- structured.generalize <!matmul> : (O) -> O
generic <- structured.generalize <!transpose> : (O) -> O
any <- structured.specialize <!generic> : (O) -> O
generic <- structured.interchange <!generic> iterator_interchange = [1, 0] : (O) -> O
fill generic generic for <- structured.tile_reduction_using_for <!generic> by tile_sizes = [0, 4] : (O) -> (O, O, O, O)
fill generic generic forall <- structured.tile_reduction_using_forall <!generic> by num_threads = [0, 4] tile_sizes = [] : (O) -> (O, O, O, O)
any any generic generic <- structured.split_reduction <!generic> {split_factor = 4, insert_split_dimension = 0} : (O) -> (O, O, O, O)
- <- structured.vectorize <!fill> : O
- <- structured.vectorize <!matmul> : O
- <- structured.vectorize <!copy> vector_sizes [8, 16] : O
func <- structured.vectorize_children_and_apply_patterns <!func> : (O) -> O
matmul pad any <- structured.pad <!matmul> pad_to_multiple_of [4, 4, 4] {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32], padding_dimensions = [0, 1, 2], nofold_flags = [1, 1, 1], copy_back_op = "none"} : (O) -> (O, O, O)
matmul pad <- structured.pad_tiling_interface <!matmul> to padding_sizes [6] pad_to_multiple_of {padding_values = [0.0 : f32, 0.0 : f32, 0.0 : f32]} : (O) -> (O, O)
generic <- structured.hoist_pad <!pad> by 1 loops : (O) -> O
any <- structured.hoist_pad.build_packing_loop_nest <!pad> above <padloop> : (O, O) -> O
matmul <- structured.promote <!matmul> {operands_to_promote = [0]} : (O) -> O
V <- structured.promote_tensor to 1 <V> : V
conv <- structured.decompose <!conv> : (O) -> O
any <- structured.decompose_interface <!softmax> : (O) -> O
for <- structured.convert_to_loops <!matmul> : (O) -> O
for <- structured.convert_to_loops <!bufcopy> : (O) -> O
any <- structured.rewrite_in_destination_passing_style <!pad> : (O) -> O
V any <- structured.bufferize_to_allocation <!pad> : O
V any <- structured.bufferize_to_allocation <!matmul> {bufferize_destination_only, memory_space = 1} : O
func <- structured.hoist_redundant_vector_transfers <!func> : (O) -> O
func <- structured.hoist_redundant_vector_broadcasts <!func> : (O) -> O
matmul <- structured.scalarize <!matmul> : (O) -> O
halves <- structured.split <!matmul> after 4 {dimension = 0} : O
halves <- structured.split <!generic> after 4 {dimension = 0} : O
P P P <- structured.multitile_sizes <matmul> {dimension = 0, target_size = 4} : (O) -> P
P P <- structured.continuous_tile_sizes <matmul> {dimension = 0, target_size = 9} : (O) -> P
matmul <- structured.transpose_matmul <!matmul> : (O) -> O
add <- structured.flatten_elementwise <!add> : (O) -> O
for any <- structured.gpu.map_copy_to_threads <!copy> total_num_threads = 32 desired_bit_alignment = 32 : (O) -> (O, O)
copy <- structured.insert_slice_to_copy <!insert> : (O) -> O
- <- structured.eliminate_empty_tensors <func> : O
any <- structured.linalg_copy_to_memref <!bufcopy> : (O) -> O
any <- structured.pack <!matmul> packed_sizes = [2, 2, 2] : (O) -> !transform.op<"linalg.generic">
any <- structured.pack_greedily <!tensormatmul> matmul_packed_sizes = [2, 2, 2] matmul_inner_dims_order = [0, 1, 2] : (O) -> !transform.op<"linalg.generic">
any any any <- structured.lower_pack <!pack> : (!transform.op<"linalg.pack">) -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">, !transform.op<"linalg.transpose">)
any any any any any <- structured.lower_unpack <!unpack> : (!transform.op<"linalg.unpack">) -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">, !transform.op<"tensor.collapse_shape">, !transform.op<"tensor.extract_slice">, !transform.op<"linalg.copy">)
any any <- structured.convert_conv2d_to_img2col <!conv> : (O) -> (O, O)
any <- structured.transpose_conv2d <!convf> : (O) -> O
any <- structured.winograd_conv2d <!convf> {fmr = 0 : i32} : (O) -> O
- <- loop.unroll <!for> {factor = 2} : O
- <- loop.unroll <!for> {factor = 4} : O
- <- loop.unroll_and_jam <!for> {factor = 2} : O
func any <- loop.outline <!for> {func_name = "outlined"} : (O) -> (O, O)
for <- loop.coalesce <!outer> : (O) -> O
for <- loop.coalesce_nested <!outer> : (O) -> O
for <- loop.fuse_sibling <!first> into <!second> : (O, O) -> O
for for <- loop.peel <!uneven> : (!transform.op<"scf.for">) -> (O, O)
for <- loop.pipeline <!single> : (!transform.op<"scf.for">) -> O
- <- loop.promote_if_one_iteration <!for> : O
for for <- loop.forall_to_for <!forall> : (O) -> (O, O)
parallel <- loop.forall_to_parallel <!forall> : (O) -> O
for <- loop.parallel_for_to_nested_fors <!parallel> : (O) -> O
- <- loop.hoist_loop_invariant_subsets <for> : O
- <- scf.take_assumed_branch <!if> : (O) -> ()
any any <- memref.alloca_to_global <!alloca> : (!transform.op<"memref.alloca">) -> (O, O)
any <- memref.multibuffer <!alloc> {factor = 2 : i64, skip_analysis} : (!transform.op<"memref.alloc">) -> O
any <- memref.make_loop_independent <!inneralloca> {num_loops = 1 : i64} : (!transform.op<"memref.alloca">) -> O
any <- tensor.make_loop_independent <!inneremp> {num_loops = 1 : i64} : (O) -> O
- <- memref.erase_dead_alloc_and_stores <func> : (O) -> ()
- <- bufferization.buffer_loop_hoisting <func> : O
- <- bufferization.eliminate_empty_tensors <func> : O
any <- bufferization.empty_tensor_to_alloc_tensor <!emptytyped> : (!transform.op<"tensor.empty">) -> !transform.op<"bufferization.alloc_tensor">
func <- bufferization.one_shot_bufferize <!func> : (O) -> O
launch <- gpu.map_forall_to_blocks <blocks> generate_gpu_launch : (O) -> O
launch <- gpu.map_nested_forall_to_threads <launch> block_dims = [4, 1, 1] : (O) -> O
func <- nvgpu.create_async_groups <!func> : (O) -> O
- <- nvgpu.rewrite_matmul_as_mma_sync <matmul> : (O) -> ()
- <- apply_licm to <for> : O
- <- apply_cse to <func> : O
- <- apply_dce to <func> : O
func <- apply_registered_pass "canonicalize" to <!func> : (O) -> O
func <- apply_registered_pass "cse" to <!func> : (O) -> O
func <- apply_registered_pass "canonicalize" with options = {"max-iterations" = 3} to <!func> : (O) -> O
- <- apply_conversion_patterns to <!func> { transform.apply_conversion_patterns.dialect_to_llvm "arith" } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm"], partial_conversion} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.scf.scf_to_control_flow } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.vector.vector_to_llvm } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.gpu.gpu_subgroup_reduce_to_nvvm } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.gpu.gpu_to_nvvm } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.gpu.gpu_to_rocdl chipset = "gfx942" } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.gpu.gpu_wmma_to_nvvm } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.nvgpu.nvgpu_to_nvvm } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
- <- apply_conversion_patterns to <func> { transform.apply_conversion_patterns.scf.structural_conversions } with type_converter { transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter } {legal_dialects = ["llvm", "cf", "func", "memref", "arith", "scf", "linalg", "tensor"], partial_conversion, preserve_handles} : O
any <- get_parent_op <any> : (O) -> O
func <- get_parent_op <inner> {op_name = "func.func"} : (O) -> O
func <- get_parent_op <scalar> {isolated_from_above} : (O) -> O
for <- get_parent_op <inner> {op_name = "scf.for", deduplicate} : (O) -> O
for <- get_parent_op <scalar> {nth_parent = 1} : (O) -> O
fill <- get_producer_of_operand <matmul>[2] : (O) -> O
matmul <- get_producer_of_operand <add>[0] : (O) -> O
add <- get_consumers_of_result <matmul>[0] : (O) -> O
V <- get_operand <matmul>[0] : (O) -> V
V <- get_operand <any>[all] : (O) -> V
V <- get_result <matmul>[0] : (O) -> V
V <- get_result <constant>[all] : (O) -> V
any <- get_defining_op <V> : (V) -> O
P <- get_type elemental <V> : (V) -> !transform.any_param
any <- merge_handles <any>, <any> : O
any <- merge_handles deduplicate <any>, <any> : O
V <- merge_handles <V>, <V> : V
P <- merge_handles <P>, <P> : P
any any <- split_handle <any> : (O) -> (O, O)
any any <- split_handle <any> {overflow_result = 1} : (O) -> (O, O)
any any <- split_handle <any> {fail_on_payload_too_small = false} : (O) -> (O, O)
for <- select "scf.for" in <loop> : (O) -> O
any <- replicate num(<any>) <any> : O, O
P <- num_associations <any> : (O) -> P
P <- num_associations <V> : (V) -> P
P <- param.constant 4 : i64 -> P
P <- tune.knob<"size"> = 4 from options = [2, 4, 8] -> P
- <- annotate <any> "mark" : O
- <- annotate <any> "size" = <P> : O, P
any <- cast <any> : O to O
fortyped <- cast <for> : O to !transform.op<"scf.for">
- <- print <any> {name = "p"} : O
- <- verify <func> : O
- <- debug.emit_remark_at <any>, "here" : O
- <- debug.emit_remark_at <V>, "here" : V
- <- debug.emit_param_as_remark <P> : P
- <- foreach <any> : O { ^bb0(%in: !transform.any_op): transform.annotate %in "each" : !transform.any_op }
any <- foreach <any> : O -> O { ^bb0(%in: !transform.any_op): %in2 = transform.get_parent_op %in : (!transform.any_op) -> !transform.any_op transform.yield %in2 : !transform.any_op }
- <- foreach <!for> : O { ^bb0(%in: !transform.any_op): transform.loop.unroll %in {factor = 2} : !transform.any_op }
- <- foreach <!matmul> : O { ^bb0(%in: !transform.any_op): %in2, %in3 = transform.structured.tile_using_for %in tile_sizes [2] : (!transform.any_op) -> (!transform.any_op, !transform.any_op) }
- <- foreach <any>, <any> with_zip_shortest : O, O { ^bb0(%in: !transform.any_op, %in2: !transform.any_op): transform.annotate %in2 "both" : !transform.any_op }
- <- foreach <any> : O { ^bb0(%in: !transform.any_op): transform.apply_cse to <func> : !transform.any_op }
- <- foreach <any> : O { ^bb0(%in: !transform.any_op): transform.loop.unroll <!for> {factor = 2} : !transform.any_op }
- <- sequence <func> : O failures(suppress) { ^bb0(%in: !transform.any_op): transform.apply_cse to %in : !transform.any_op }
- <- sequence <func> : O failures(suppress) { ^bb0(%in: !transform.any_op): %in2 = transform.structured.match interface{LinalgOp} in %in : (!transform.any_op) -> !transform.any_op %in3, %in4 = transform.split_handle %in2 : (!transform.any_op) -> (!transform.any_op, !transform.any_op) transform.annotate %in3 "late" : !transform.any_op transform.apply_cse to %in : !transform.any_op }
- <- sequence <any> : O failures(suppress) { ^bb0(%in: !transform.any_op): transform.annotate <any> "early" : !transform.any_op transform.loop.promote_if_one_iteration <!for>  : !transform.any_op transform.annotate %in "late" : !transform.any_op }
any <- sequence <!generic> : O -> O failures(suppress) { ^bb0(%in: !transform.any_op): %in2 = transform.structured.interchange %in iterator_interchange = [1, 0] : (!transform.any_op) -> !transform.any_op %in3, %in4 = transform.split_handle %in2 : (!transform.any_op) -> (!transform.any_op, !transform.any_op) transform.annotate %in3 "late" : !transform.any_op transform.yield %in3 : !transform.any_op }
any <- sequence <!add> : O -> O failures(propagate) { ^bb0(%in: !transform.any_op): %in2 = transform.structured.generalize %in : (!transform.any_op) -> !transform.any_op transform.yield %in2 : !transform.any_op }
- <- alternatives <func> : O { ^bb0(%in: !transform.any_op): %in2 = transform.structured.match ops{["scf.for"]} in %in : (!transform.any_op) -> !transform.any_op transform.loop.promote_if_one_iteration %in2 : !transform.any_op }, { ^bb0(%in: !transform.any_op): }
- <- alternatives <!func> : O { ^bb0(%in: !transform.any_op): %in2, %in3 = transform.split_handle %in : (!transform.any_op) -> (!transform.any_op, !transform.any_op) }, { ^bb0(%in: !transform.any_op): transform.apply_cse to %in : !transform.any_op }
func <- alternatives <!func> : O -> O { ^bb0(%in: !transform.any_op): %in2 = transform.apply_registered_pass "cse" to %in : (!transform.any_op) -> !transform.any_op transform.yield %in2 : !transform.any_op }, { ^bb0(%in: !transform.any_op): transform.yield %in : !transform.any_op }
- <- tune.alternatives<"way"> selected_region = 1 { transform.apply_cse to <func> : !transform.any_op transform.yield }, { transform.apply_dce to <func> : !transform.any_op transform.yield }
- <- include @read failures(propagate) (<func>) : (O) -> ()
- <- include @read failures(suppress) (<any>) : (O) -> ()
- <- include @consume failures(propagate) (<!for>) : (O) -> ()
- <- include @consume failures(suppress) (<!any>) : (O) -> ()
any <- include @give failures(propagate) (<any>) : (O) -> O
func <- foreach_match in <!func> @is_add -> @mark : (O) -> O
func <- foreach_match in <!func> @is_loop -> @unroll, @is_add -> @mark : (O) -> O
func any <- foreach_match flatten_results in <!func> @is_add -> @name : (O) -> (O, O)
inner <- collect_matching @is_add in <func> : (O) -> O
matmul <- collect_matching @is_matmul in <func> : (O) -> O
P <- collect_matching @is_constant in <func> : (O) -> !transform.any_param
"""

PATTERNS = r"""
canonicalization
linalg.data_layout_propagation
linalg.decompose_pack_unpack
linalg.decompose_pad
linalg.erase_unnecessary_inputs
linalg.extract_slice_sinking
linalg.fold_add_into_dest
linalg.fold_pack_unpack_into_empty
linalg.fold_unit_extent_dims_via_reshapes
linalg.fold_unit_extent_dims_via_slices
linalg.pad_vectorization
linalg.tiling_canonicalization
memref.alloc_to_alloca
memref.expand_ops
memref.expand_strided_metadata
memref.extract_address_computations
memref.fold_memref_alias_ops
memref.resolve_ranked_shaped_type_result_dims
scf.for_loop_canonicalization
tensor.bubble_up_extract_slice
tensor.decompose_concat
tensor.drop_redundant_insert_slice_rank_expansion
tensor.fold_into_pack_and_unpack
tensor.fold_tensor_empty
tensor.fold_tensor_subset_ops
tensor.fold_tensor_subset_ops_into_vector_transfers
tensor.merge_consecutive_insert_extract_slice
tensor.reassociative_reshape_folding
tensor.rewrite_as_constant
vector.cast_away_vector_leading_one_dim
vector.drop_inner_most_unit_dims_from_xfer_ops
vector.drop_unit_dims_with_shape_cast
vector.elementwise_to_vector
vector.flatten_vector_transfer_ops
vector.fold_arith_extension
vector.interleave_and_deinterleave_to_shuffle
vector.lower_bitcast
vector.lower_broadcast
vector.lower_contraction lowering_strategy = "outerproduct"
vector.lower_create_mask
vector.lower_gather
vector.lower_interleave
vector.lower_masked_transfers
vector.lower_masks
vector.lower_outerproduct
vector.lower_scan
vector.lower_shape_cast
vector.lower_step index_bitwidth = 64
vector.lower_transfer max_transfer_rank = 1
vector.lower_transpose lowering_strategy = "eltwise"
vector.materialize_masks
vector.multi_reduction_flattening lowering_strategy = "innerreduction"
vector.multi_reduction_unrolling lowering_strategy = "innerreduction"
vector.rank_reducing_subview_patterns
vector.reduction_to_contract
vector.reorder_multi_reduction_dims lowering_strategy = "innerreduction"
vector.rewrite_narrow_types
vector.sink_mem_ops
vector.sink_ops
vector.split_transfer_full_partial split_transfer_strategy = "linalg-copy"
vector.transfer_permutation_patterns
vector.transfer_to_scf max_transfer_rank = 1 full_unroll = true
vector.unroll_from_elements
vector.unroll_to_elements
gpu.eliminate_barriers
gpu.gpu_rewrite_patterns
gpu.gpu_shuffle_to_amdgpu
gpu.unroll_vectors_subgroup_mma [4, 4, 4]
x86.move_accumulator_for_contract_loop
x86.shuffle_vector_fma_ops
x86.sink_vector_producer_ops
x86.vector_contract_bf16_to_fma
x86.vector_contract_to_amx_dot_product
x86.vector_contract_to_fma
x86.vector_contract_to_packed_type_dot_product
"""

SEQUENCES = """
  transform.named_sequence private @read(%a: !transform.any_op {transform.readonly}) {
    %b = transform.structured.match interface{LinalgOp} in %a : (!transform.any_op) -> !transform.any_op
    %c = transform.structured.generalize %b : (!transform.any_op) -> !transform.any_op
    transform.annotate %c "read" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @consume(%a: !transform.any_op {transform.consumed}) {
    transform.loop.unroll %a {factor = 2} : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @give(%a: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %b = transform.get_parent_op %a : (!transform.any_op) -> !transform.any_op
    transform.yield %b : !transform.any_op
  }
  transform.named_sequence private @is_add(%a: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %a ["linalg.add", "memref.load"] : !transform.any_op
    transform.yield %a : !transform.any_op
  }
  transform.named_sequence private @is_loop(%a: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %a ["scf.for", "linalg.fill"] : !transform.any_op
    transform.yield %a : !transform.any_op
  }
  transform.named_sequence private @is_matmul(%a: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %a ["linalg.matmul"] : !transform.any_op
    %none = transform.get_consumers_of_result %a[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_empty %none : !transform.any_op
    transform.yield %a : !transform.any_op
  }
  transform.named_sequence private @is_constant(%a: !transform.any_op {transform.readonly}) -> !transform.any_param {
    transform.match.operation_name %a ["arith.constant"] : !transform.any_op
    %v = transform.get_result %a[0] : (!transform.any_op) -> !transform.any_value
    %t = transform.get_type %v : (!transform.any_value) -> !transform.any_param
    %n = transform.num_associations %a : (!transform.any_op) -> !transform.param<i64>
    %one = transform.param.constant 1 : i64 -> !transform.param<i64>
    transform.match.param.cmpi eq %n, %one : !transform.param<i64>
    transform.yield %t : !transform.any_param
  }
  transform.named_sequence private @mark(%a: !transform.any_op {transform.readonly}) {
    transform.annotate %a "matched" : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @unroll(%a: !transform.any_op {transform.consumed}) {
    transform.loop.unroll %a {factor = 2} : !transform.any_op
    transform.yield
  }
  transform.named_sequence private @name(%a: !transform.any_op {transform.readonly}) -> !transform.any_op {
    %p = transform.get_parent_op %a : (!transform.any_op) -> !transform.any_op
    transform.yield %p : !transform.any_op
  }
"""
