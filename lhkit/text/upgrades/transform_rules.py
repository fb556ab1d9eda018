"""Transform ops of the past: other names, other results, other places for sizes and types."""

from __future__ import annotations

from collections.abc import Iterable

from lhkit.text.brackets import closing, source_of, split_list
from lhkit.text.op_tree import OpSyntax
from lhkit.text.upgrades.pattern_ops import (
    count_remark,
    lower_vectors,
    multi_reduction,
    nested_sequence,
    vectorize_children,
)
from lhkit.text.upgrades.result_ops import cast_handle, more_results, pad_flags, split_parts_handle
from lhkit.text.upgrades.rule_context import Rule, Scope
from lhkit.text.upgrades.rule_edits import Finding, hint, rewrite
from lhkit.text.upgrades.signatures import (
    ANY_OP,
    functional,
    inline_type_edits,
    operand_types,
    signature_of,
    today,
    type_edit,
    type_of,
    values_of,
)
from lhkit.text.upgrades.tiling_rules import (
    add_sizes_word,
    forall_words,
    fuse_words,
    gpu_words,
    interchange_word,
    without_commas,
)
from lhkit.text.upgrades.transform_names import rename_op

# How many results an op has where the text does not say, and those that take a functional type.
_RESULTS = {
    "structured.match": 1,
    "structured.generalize": 1,
    "structured.interchange": 1,
    "structured.decompose": 1,
    "structured.promote": 1,
    "structured.scalarize": 1,
    "structured.split_reduction": 4,
    "structured.fuse_into_containing_op": 2,
    "structured.tile_using_for": 0,
    "structured.fuse": 0,
    "structured.tile_using_forall": 2,
    "structured.tile_reduction_using_for": 4,
    "structured.tile_reduction_using_forall": 4,
    "structured.vectorize_children_and_apply_patterns": 1,
    "structured.rewrite_in_destination_passing_style": 1,
    "structured.convert_conv2d_to_img2col": 2,
    "structured.hoist_pad": 1,
    "structured.pad": 3,
    "structured.lower_pack": 3,
    "bufferization.one_shot_bufferize": 1,
    "gpu.map_nested_forall_to_threads": 1,
    "gpu.map_forall_to_blocks": 1,
    "memref.multibuffer": 1,
    "structured.replace": 1,
    "get_producer_of_operand": 1,
    "get_consumers_of_result": 1,
    "get_parent_op": 1,
    "get_defining_op": 1,
    "num_associations": 1,
}


# Ops that end with the types of their operands alone.
_OPERAND_TYPES = frozenset(
    ("structured.vectorize", "debug.emit_remark_at", "debug.emit_param_as_remark", "print", "annotate")
)


_TEST_ONLY = "a test op of MLIR's own build, in no released compiler"


_INSTEAD = {
    "test_consume_operand": "a consuming op that does nothing to the payload has no equal; leave the step out",
    "test_transform_op": "leave the step out",
}


def find_in_transform(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Return the first thing to be done about a transform op, as a list with one finding or none."""
    name = op.spelling.removeprefix("transform.")
    for rule in (rename_op, *_RULES.get(name, ()), _add_types):
        found = list(rule(op, scope))
        if found:
            return found
    return _hints(op, name)


def _hints(op: OpSyntax, name: str) -> list[Finding]:
    if name.startswith("test_"):
        instead = _INSTEAD.get(name, "leave the step out, or define an op of your own")
        return [hint(op.at, f"{op.spelling} is {_TEST_ONLY}", instead)]
    foreign = name.split(".", maxsplit=1)[0]
    if foreign in ("iree", "disc"):
        return [hint(op.at, f"{op.spelling} is an op of {foreign}, not of MLIR", _foreign(name))]
    return []


def _foreign(name: str) -> str:
    if name.endswith("apply_patterns"):
        return (
            "transform.apply_patterns to %handle { transform.apply_patterns.canonicalization } : "
            "!transform.any_op, and transform.apply_cse to %handle, transform.apply_licm to %loop"
        )
    if name.endswith("bufferize"):
        return (
            "%m = transform.bufferization.one_shot_bufferize %module : (!transform.any_op) -> !transform.any_op"
        )
    return "leave the step out, or use the compiler that has it"


def _split_handle(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    signature = signature_of(op)
    if signature.colon is None and op.result_count:
        operands = operand_types(op, signature, scope.types)
        types = functional(operands, [ANY_OP] * op.result_count)
        yield rewrite(op.at, "no types", types, type_edit(op, signature, types))


def _merge_handles(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    signature = signature_of(op)
    values = values_of(op, signature)
    if signature.colon is None and values:
        types = f": {type_of(values[0], scope.types)}"
        yield rewrite(op.at, "no type", types, type_edit(op, signature, types))


def _multitile(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    signature = signature_of(op)
    if signature.colon is None:
        types = functional(operand_types(op, signature, scope.types), [ANY_OP])
        yield rewrite(op.at, "no types", types, type_edit(op, signature, types))


def _add_types(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Types that stood nowhere, or in the middle of a list."""
    name = op.spelling.removeprefix("transform.")
    if op.is_generic:
        return
    signature = signature_of(op)
    inline = inline_type_edits(op)
    if signature.colon is not None and not inline:
        return
    operands = [today(t) for t in operand_types(op, signature, scope.types)]
    if name in _OPERAND_TYPES and operands:
        types = f": {', '.join(operands)}"
    elif name in _RESULTS:
        count = op.result_count or _RESULTS[name] or 1 + _loops(op)
        results = [today(t) for t in signature.results or [ANY_OP] * count]
        types = functional(operands, results)
    else:
        return
    old = "a type in a list" if inline else "no types"
    yield rewrite(op.at, old, types, *inline, type_edit(op, signature, types), until=18)


def _loops(op: OpSyntax) -> int:
    """Return how many loops tiling by the sizes of an op gives."""
    tokens = op.head
    for i, token in enumerate(tokens[:-1]):
        if token.text == "tile_sizes" and tokens[i + 1].text == "[":
            parts = split_list(tokens[i + 2 : closing(tokens, i + 1)])
            return sum(source_of(p) != "0" for p in parts)
    return 0


_RULES: dict[str, tuple[Rule, ...]] = {
    "structured.tile_using_for": (add_sizes_word,),
    "structured.fuse": (fuse_words,),
    "structured.tile_using_forall": (forall_words,),
    "structured.tile_reduction_using_forall": (without_commas,),
    "structured.vectorize": (vectorize_children,),
    "structured.fuse_into_containing_op": (more_results,),
    "structured.pad": (pad_flags, more_results),
    "loop.outline": (more_results,),
    "loop.peel": (more_results, cast_handle),
    "loop.pipeline": (cast_handle,),
    "memref.multibuffer": (cast_handle,),
    "structured.interchange": (interchange_word,),
    "structured.split": (split_parts_handle,),
    "structured.multitile_sizes": (_multitile,),
    "split_handle": (_split_handle,),
    "merge_handles": (_merge_handles,),
    "sequence": (nested_sequence,),
    "gpu.map_nested_forall_to_threads": (gpu_words,),
    "gpu.map_forall_to_blocks": (gpu_words,),
    "test_print_number_of_associated_payload_ir_ops": (count_remark,),
    "vector.lower_vectors": (lower_vectors,),
    "apply_patterns.vector.lower_multi_reduction": (multi_reduction,),
}
