"""Data on transform ops that cannot be queried from the compiler: starting points, samples and examples."""

from __future__ import annotations

from collections.abc import Mapping

from lhkit.model.op_catalogue import Assembly, Piece, RegionKind
from lhkit.model.step_form import AttributeValue

# Ops that make up a file or end a body: nothing that one inserts as a step.
STRUCTURAL: Mapping[str, str] = {
    "transform.named_sequence": "is the sequence that steps stand in",
    "transform.yield": "ends a body",
    "transform.payload": "keeps payload between runs; it stands beside sequences, not in them",
    "transform.with_pdl_patterns": "surrounds patterns and one sequence at the top of a file",
    "transform.match.structured.yield": "ends the body of transform.match.structured",
}

# Regions must not be empty where the compiler looks for their block without asking (it would crash).
_BODY = '{^bb0(%x: !transform.any_op): "transform.yield"() : () -> ()}'
REGIONS: Mapping[str, tuple[str, ...]] = {
    "transform.alternatives": (_BODY,) * 2,
    "transform.apply_conversion_patterns": ("{^bb0:}",),
    "transform.apply_patterns": ("{^bb0:}",),
    "transform.foreach": (_BODY,),
    "transform.func.cast_and_call": ("{}",),
    "transform.match.structured": (_BODY.replace("transform.yield", "transform.match.structured.yield"),),
    "transform.sequence": (_BODY,),
    "transform.smt.constrain_params": ('{^bb0(%x: !smt.int): "smt.yield"() : () -> ()}',),
    "transform.structured.replace": ('{^bb0: "builtin.module"() ({^bb1:}) : () -> ()}',),
    "transform.tune.alternatives": ('{^bb0: "transform.yield"() : () -> ()}',) * 2,
}

REGION_KINDS: Mapping[str, tuple[RegionKind, ...]] = {
    "transform.alternatives": ("alternatives",),
    "transform.apply_conversion_patterns": ("conversion-patterns", "type-converter"),
    "transform.apply_patterns": ("patterns",),
    "transform.func.cast_and_call": ("type-converter",),
    "transform.payload": ("payload",),
    "transform.smt.constrain_params": ("payload",),
    "transform.structured.replace": ("payload",),
    "transform.tune.alternatives": ("alternatives",),
    "transform.with_pdl_patterns": ("payload",),
}

_OP, _PARAM, _VALUE = ("!transform.any_op",), ("!transform.param<i64>",), ("!transform.any_value",)
# Types of operands and results ("->name") where an instance with one of each required one does not verify.
START_TYPES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "transform.affine.simplify_bounded_affine_ops": {"bounded_values": _OP},
    "transform.alternatives": {"scope": _OP},  # without a scope it may only stand at the top
    "transform.collect_matching": {"->results": _OP},  # as @matcher gives
    "transform.foreach": {"targets": _OP},  # the body's arguments are the targets
    "transform.include": {"operands": _OP, "->results": _OP},  # as @matcher takes and gives
    "transform.match.structured.result": {"->result": _VALUE},  # the value, or its users
    "transform.merge_handles": {"handles": _OP},  # the result has the type of the handles
    "transform.replicate": {"handles": _OP, "->replicated": _OP},  # printed without, it does not parse
    "transform.sequence": {"root": _OP},  # without a root it may only stand at the top
    "transform.smt.constrain_params": {"params": _PARAM},  # the body's arguments are the parameters
    "transform.structured.bufferize_to_allocation": {"->allocated_buffer": _VALUE},  # fixed
}
# Attributes where an instance with the required ones alone does not verify.
START_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "transform.affine.simplify_bounded_affine_ops": {
        "lower_bounds": "array<i64: 0>",  # as many bounds as values
        "upper_bounds": "array<i64: 8>",
    },
    "transform.apply_conversion_patterns.dialect_to_llvm": {"dialect_name": '"func"'},  # must be loaded
    "transform.foreach_match": {"matchers": "[@matcher]", "actions": "[@action]"},  # one pair at least
    "transform.func.cast_and_call": {"function_name": "@action"},  # a name or a handle
    "transform.match.structured.body": {"passthrough": "unit"},  # one condition
    "transform.structured.pack_greedily": {"matmul_inner_dims_order": "array<i64: 0, 1, 2>"},  # a permutation
    "transform.structured.pack_transpose": {"outer_perm": "array<i64: 1, 0>"},  # one permutation at least
    "transform.structured.tile_using_forall": {"static_tile_sizes": "array<i64: 8>"},  # sizes or threads
    "transform.xegpu.insert_prefetch": {"static_nb_prefetch": "1 : i64"},  # a number or a parameter
}


# Custom syntax of ops of which there is no instance to learn it from.
def _ending(values: str) -> Assembly:
    return Assembly(
        (Piece("text", " ", needs=values), Piece("operands", values), Piece("types")), "operands", (values,)
    )


ASSEMBLIES: Mapping[str, Assembly] = {
    "transform.match.structured.yield": _ending("handles"),
    "transform.yield": _ending("operands"),
}

# Ops that consume what the steps they apply consume, which an instance of their own does not tell.
EFFECTS_OF_BODIES = frozenset(("transform.foreach", "transform.include", "transform.sequence"))

# Results of which there is one for each size in a list that is not 0: op and attribute, result.
LOOP_RESULTS: Mapping[tuple[str, str], str] = {
    ("transform.structured.fuse", "static_tile_sizes"): "loops",
    ("transform.structured.tile_using_for", "static_sizes"): "loops",
}

# Words and numbers that mean something, for attributes that would take any.
SAMPLES: Mapping[tuple[str, str], AttributeValue] = {
    ("transform.annotate", "name"): "tiled",
    ("transform.apply_conversion_patterns", "illegal_dialects"): ("math",),
    ("transform.apply_conversion_patterns", "illegal_ops"): ("func.call",),
    ("transform.apply_conversion_patterns", "legal_dialects"): ("llvm",),
    ("transform.apply_conversion_patterns", "legal_ops"): ("func.func",),
    ("transform.apply_conversion_patterns.dialect_to_llvm", "dialect_name"): "func",
    ("transform.apply_conversion_patterns.gpu.gpu_to_rocdl", "chipset"): "gfx942",
    ("transform.apply_patterns.gpu.gpu_shuffle_to_amdgpu", "chipset"): "gfx942",
    ("transform.apply_registered_pass", "pass_name"): "canonicalize",
    ("transform.bufferization.one_shot_bufferize", "memcpy_op"): "linalg.copy",
    ("transform.debug.emit_param_as_remark", "message"): "size",
    ("transform.debug.emit_remark_at", "message"): "matched",
    ("transform.dlti.query", "keys"): ('"L1_cache_size"',),
    ("transform.foreach_match", "actions"): ("@action",),
    ("transform.foreach_match", "matchers"): ("@matcher",),
    ("transform.get_parent_op", "op_name"): "scf.for",
    ("transform.loop.outline", "func_name"): "kernel",
    ("transform.param.constant", "value"): "8 : i64",
    ("transform.print", "name"): "after tiling",
    ("transform.select", "op_name"): "scf.for",
    ("transform.structured.bufferize_to_allocation", "alloc_op"): "memref.alloca",
    ("transform.structured.bufferize_to_allocation", "memcpy_op"): "linalg.copy",
    ("transform.structured.match", "op_attrs"): (("library_call", '"gemm"'),),
    ("transform.structured.pad", "copy_back_op"): "linalg.copy",
    ("transform.structured.promote", "mapping"): ("#gpu.memory_space<workgroup>",),
    ("transform.structured.winograd_conv2d", "fmr"): "1",
    ("transform.tune.alternatives", "name"): "order",
    ("transform.tune.alternatives", "selected_region_attr"): 1,
    ("transform.tune.knob", "name"): "tile_m",
    ("transform.tune.knob", "options"): "[4, 8, 16]",
    ("transform.tune.knob", "selected"): "8 : i64",
}

# Instances with more than the smallest has, where what is set must fit together. They may use %other (ops),
# %value, %param, %any (a parameter) and %loop (an scf.for).
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "transform.apply_conversion_patterns": (
        "transform.apply_conversion_patterns to %other {\n"
        '  transform.apply_conversion_patterns.dialect_to_llvm "math"\n'
        "  transform.apply_conversion_patterns.vector.vector_to_llvm\n"
        "} with type_converter {\n"
        "  transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter "
        "{use_bare_ptr_call_conv = true}\n"
        '} {legal_dialects = ["llvm"], partial_conversion} : !transform.any_op',
    ),
    "transform.apply_patterns": (
        "transform.apply_patterns to %other {\n"
        "  transform.apply_patterns.canonicalization\n"
        "  transform.apply_patterns.vector.lower_contraction lowering_strategy = dot\n"
        "} {apply_cse, max_iterations = 4} : !transform.any_op",
    ),
    "transform.apply_registered_pass": (
        '%new = transform.apply_registered_pass "canonicalize" with options = '
        '{"max-iterations" = %param, "top-down" = false} to %other '
        ": (!transform.any_op, !transform.param<i64>) -> !transform.any_op",
    ),
    "transform.bufferization.one_shot_bufferize": (
        "%new = transform.bufferization.one_shot_bufferize layout{IdentityLayoutMap} %other "
        "{bufferize_function_boundaries = true, test_analysis_only = true, dump_alias_sets = true} "
        ": (!transform.any_op) -> !transform.any_op",
    ),
    "transform.foreach": (
        "transform.foreach %other, %scratch with_zip_shortest : !transform.any_op, !transform.any_op {\n"
        "^bb0(%one: !transform.any_op, %two: !transform.any_op):\n"
        "}",
        "%new = transform.foreach %other : !transform.any_op -> !transform.any_op {\n"
        "^bb0(%each: !transform.any_op):\n"
        '  %parent = transform.get_parent_op %each {op_name = "func.func"} '
        ": (!transform.any_op) -> !transform.any_op\n"
        "  transform.yield %parent : !transform.any_op\n"
        "}",
    ),
    "transform.func.cast_and_call": (
        "%call = transform.func.cast_and_call %other(%value) -> %value before %other {\n"
        "  transform.type_conversion.tensor.cast_shape_dynamic_dims\n"
        "} "
        ": (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) "
        "-> !transform.any_op",
    ),
    "transform.get_operand": (
        "%new = transform.get_operand %other[all] : (!transform.any_op) -> !transform.any_value",
    ),
    "transform.get_result": (
        "%new = transform.get_result %other[all] : (!transform.any_op) -> !transform.any_value",
    ),
    "transform.match.structured.body": (
        "transform.match.structured.body %structure {elementwise} : !transform.any_op",
        "transform.match.structured.body %structure {reduction_position = 0} : !transform.any_op",
        'transform.match.structured.body %structure {contraction = ["arith.mulf", "arith.addf"]} '
        ": !transform.any_op",
    ),
    "transform.match.structured.dim": (
        "%sizes = transform.match.structured.dim %structure[all] "
        ": (!transform.any_op) -> !transform.param<i64>",
        "transform.match.structured.dim %structure[-1] {reduction} : !transform.any_op",
    ),
    "transform.match.structured.init": (
        "%init = transform.match.structured.init %structure[0] : (!transform.any_op) -> !transform.any_value",
        "transform.match.structured.init %structure[all] {projected_permutation} : !transform.any_op",
    ),
    "transform.match.structured.input": (
        "%input = transform.match.structured.input %structure[0] : (!transform.any_op) -> !transform.any_value",
        "transform.match.structured.input %structure[all] {projected_permutation} : !transform.any_op",
    ),
    "transform.match.structured.result": (
        "%user = transform.match.structured.result %structure[0] {single} "
        ": (!transform.any_op) -> !transform.any_op",
        "%user = transform.match.structured.result %structure[0] {any} "
        ": (!transform.any_op) -> !transform.any_op",
    ),
    "transform.merge_handles": (
        "%new = transform.merge_handles deduplicate %other, %scratch : !transform.any_op",
    ),
    "transform.sequence": (
        "%new = transform.sequence %other, %param : !transform.any_op, !transform.param<i64> "
        "-> !transform.any_op failures(suppress) {\n"
        "^bb0(%each: !transform.any_op, %size: !transform.param<i64>):\n"
        "  transform.yield %each : !transform.any_op\n"
        "}",
    ),
    "transform.split_handle": (
        "%first, %rest = transform.split_handle %other {overflow_result = 1} "
        ": (!transform.any_op) -> (!transform.any_op, !transform.any_op)",
    ),
    "transform.structured.fuse": (
        "%tiled, %outer, %inner = transform.structured.fuse %other tile_sizes [8, %param] interchange [1, 0] "
        "{apply_cleanup} : (!transform.any_op, !transform.param<i64>) "
        "-> (!transform.any_op, !transform.any_op, !transform.any_op)",
        "%tiled, %loop_nest = transform.structured.fuse %other tile_sizes [8, 4] {use_forall} "
        ": (!transform.any_op) -> (!transform.any_op, !transform.any_op)",
    ),
    "transform.structured.pack_greedily": (
        "%new = transform.structured.pack_greedily %other matmul_packed_sizes = [8, %scratch, 0] "
        "matmul_padded_sizes_next_multiple_of = [0, 0, 16] matmul_inner_dims_order = [1, 2, 0] "
        ": (!transform.any_op, !transform.any_op) -> !transform.any_op",
    ),
    "transform.structured.pad": (
        "%padded, %pad, %copy = transform.structured.pad %other pad_to_multiple_of [8, %param] "
        "{padding_dimensions = [0, 1], padding_values = [0.0 : f32, 0.0 : f32], nofold_flags = [1, 0], "
        'transpose_paddings = [[1, 0]], copy_back_op = "none"} : (!transform.any_op, !transform.param<i64>) '
        "-> (!transform.any_op, !transform.any_op, !transform.any_op)",
    ),
    "transform.structured.split": (
        "%parts = transform.structured.split %other after %param {dimension = 1} "
        ": !transform.any_op, !transform.param<i64>",
    ),
    "transform.structured.tile_using_for": (
        "%tiled, %outer, %inner = transform.structured.tile_using_for %other tile_sizes [%param, [8]] "
        "interchange = [1, 0] : (!transform.any_op, !transform.param<i64>) "
        "-> (!transform.any_op, !transform.any_op, !transform.any_op)",
        "%tiled, %loops:2 = transform.structured.tile_using_for %other tile_sizes [8, 0, 32] "
        ": (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)",
    ),
    "transform.structured.tile_using_forall": (
        "%tiled, %forall = transform.structured.tile_using_forall %other num_threads [4, %param] "
        "(mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op, !transform.param<i64>) "
        "-> (!transform.any_op, !transform.any_op)",
        "%tiled, %forall = transform.structured.tile_using_forall %other tile_sizes *(%param) "
        ": (!transform.any_op, !transform.param<i64>) -> (!transform.any_op, !transform.any_op)",
    ),
    "transform.structured.vectorize": (
        "transform.structured.vectorize %other vector_sizes [8, [4], %param] {vectorize_nd_extract} "
        ": !transform.any_op, !transform.param<i64>",
    ),
    "transform.xegpu.insert_prefetch": (
        "%new = transform.xegpu.insert_prefetch %other nb_prefetch = %param "
        ": (!transform.any_op, !transform.param<i64>) -> !transform.any_op",
    ),
}
