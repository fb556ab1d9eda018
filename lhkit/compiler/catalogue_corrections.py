"""What asking cannot find out about transform ops: one entry a line, each with its reason.

Only starting points and examples stand here; whatever can be asked of the compiler is asked.
"""

from __future__ import annotations

from collections.abc import Mapping

from lhkit.model.catalogue import RegionKind

# Ops that make up a file or end a body: nothing that one inserts as a step.
STRUCTURAL: Mapping[str, str] = {
    "transform.named_sequence": "is the sequence that steps stand in",
    "transform.yield": "ends a body",
    "transform.payload": "keeps payload between runs; it stands beside sequences, not in them",
    "transform.with_pdl_patterns": "surrounds patterns and one sequence at the top of a file",
    "transform.match.structured.yield": "ends the body of transform.match.structured",
}

# Regions must not be empty where the compiler looks for their block without asking (it would crash).
REGIONS: Mapping[str, tuple[str, ...]] = {
    "transform.alternatives": ('{^bb0(%x: !transform.any_op): "transform.yield"() : () -> ()}',) * 2,
    "transform.apply_conversion_patterns": ("{^bb0:}",),
    "transform.apply_patterns": ("{^bb0:}",),
    "transform.foreach": ('{^bb0(%x: !transform.any_op): "transform.yield"() : () -> ()}',),
    "transform.irdl.collect_matching": ("{^bb0:}",),
    "transform.match.structured": (
        '{^bb0(%x: !transform.any_op): "transform.match.structured.yield"() : () -> ()}',
    ),
    "transform.sequence": ('{^bb0(%x: !transform.any_op): "transform.yield"() : () -> ()}',),
    "transform.smt.constrain_params": ('{^bb0: "smt.yield"() : () -> ()}',),
    "transform.structured.replace": ('{^bb0: "func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({}) : () -> ()}',),
    "transform.tune.alternatives": ('{^bb0: "transform.yield"() : () -> ()}',) * 2,
}  # fmt: skip

REGION_KINDS: Mapping[str, tuple[RegionKind, ...]] = {
    "transform.alternatives": ("alternatives",),
    "transform.apply_conversion_patterns": ("conversion-patterns", "type-converter"),
    "transform.apply_patterns": ("patterns",),
    "transform.func.cast_and_call": ("type-converter",),
    "transform.irdl.collect_matching": ("payload",),
    "transform.payload": ("payload",),
    "transform.smt.constrain_params": ("payload",),
    "transform.structured.replace": ("payload",),
    "transform.tune.alternatives": ("alternatives",),
    "transform.with_pdl_patterns": ("payload",),
}

# Where an instance of what there is one of does not verify: types of operands and results ("->name"), attributes.
_OP = "!transform.any_op"
STARTS: Mapping[str, tuple[Mapping[str, tuple[str, ...]], Mapping[str, str]]] = {
    "transform.alternatives": ({"scope": (_OP,)}, {}),  # without a scope it may only stand at the top
    "transform.apply_conversion_patterns.dialect_to_llvm": ({}, {"dialect_name": '"func"'}),  # must be loaded
    "transform.foreach": ({"targets": (_OP,)}, {}),  # the body's arguments are the targets
    "transform.include": ({"operands": (_OP,), "->results": (_OP,)}, {}),  # as @matcher takes and gives
    "transform.merge_handles": ({"handles": (_OP,)}, {}),  # the result has the type of the handles
    "transform.sequence": ({"root": (_OP,)}, {}),  # without a root it may only stand at the top
    "transform.structured.bufferize_to_allocation": ({"->allocated_buffer": ("!transform.any_value",)}, {}),  # fixed
    "transform.structured.pack_greedily": ({}, {"matmul_inner_dims_order": "array<i64: 0, 1, 2>"}),  # a permutation
    "transform.structured.pack_transpose": ({}, {"outer_perm": "array<i64: 1, 0>"}),  # one permutation at least
    "transform.structured.tile_using_forall": ({}, {"static_tile_sizes": "array<i64: 8>"}),  # sizes or threads
}

# Instances with more than the smallest has, where what is set must fit together. They may use %scratch and
# %other (ops), %value, %param, %any (a parameter) and %loop (an scf.for).
EXAMPLES: Mapping[str, tuple[str, ...]] = {}
