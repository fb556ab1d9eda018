"""Data on transform ops that cannot be queried from the compiler: starting points, samples and examples."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

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


@functools.cache
def op_examples() -> Mapping[str, Sequence[str]]:
    """Return instances of ops with more than the smallest has, by the op's name."""
    text = Path(__file__).with_name("op_examples.mlir").read_text(encoding="utf-8")
    examples: dict[str, list[str]] = {}
    for example in text.strip().split("\n\n")[1:]:  # the first is the comment at the top
        name = re.search(r"transform\.[\w.]+", example)
        if name is not None:
            examples.setdefault(name[0], []).append(example)
    return examples
