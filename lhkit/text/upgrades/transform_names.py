"""Transform ops under other names, some with their results in another order."""

from __future__ import annotations

from collections.abc import Iterable

from lhkit.text.brackets import closing, outside_brackets, source_of, split_list
from lhkit.text.op_tree import BlockLabel, OpSyntax
from lhkit.text.script import Replacement
from lhkit.text.upgrades.linalg_rules import TRANSPOSED
from lhkit.text.upgrades.payload_names import QUALIFIED, STANDARD
from lhkit.text.upgrades.rule_context import Scope
from lhkit.text.upgrades.rule_edits import Finding, between, hint, inserted, replaced, rewrite
from lhkit.text.upgrades.signatures import functional, signature_of, type_edit

# Old name, today's, the first LLVM without the old one. Nothing but the name changed, or a rule of the new name
# does the rest.
RENAMED: tuple[tuple[str, str, int], ...] = (
    ("get_closest_isolated_parent", "get_parent_op", 17),
    ("loop.get_parent_for", "get_parent_op", 18),
    ("split_handles", "split_handle", 17),
    ("structured.tile", "structured.tile_using_for", 18),
    ("structured.tile_to_scf_for", "structured.tile_using_for", 18),
    ("structured.tile_to_foreach_thread_op", "structured.tile_to_forall_op", 17),
    ("structured.tile_to_forall_op", "structured.tile_using_forall", 18),
    ("structured.tile_reduction_using_scf", "structured.tile_reduction_using_for", 18),
    ("structured.tile_reduction_using_foreach_thread", "structured.tile_reduction_using_forall", 17),
    ("structured.masked_vectorize", "structured.vectorize", 18),
    ("gpu.map_foreach_to_blocks", "gpu.map_forall_to_blocks", 17),
    ("gpu.map_nested_foreach_to_threads", "gpu.map_nested_forall_to_threads", 17),
    ("test_print_remark_at_operand", "debug.emit_remark_at", 18),
    ("test_print_remark_at_operand_value", "debug.emit_remark_at", 18),
    ("test_print_param", "debug.emit_param_as_remark", 18),
    (
        "apply_patterns.vector.interleave_to_shuffle",
        "apply_patterns.vector.interleave_and_deinterleave_to_shuffle",
        20,
    ),
)


_RENAMED = {old: (new, until) for old, new, until in RENAMED}


# Payload ops under names that they no longer have, in the types of handles and what is matched.
_PAYLOAD_NAMES = {
    **{old: new for old, new, _ in QUALIFIED},
    **{f"std.{old}": new for old, new, _ in STANDARD},
    **dict.fromkeys(("linalg.elemwise_binary", "linalg.elemwise_unary"), "linalg.elementwise"),
    **{old: new for old, (new, *_) in TRANSPOSED.items()},
    "linalg.init_tensor": "tensor.empty",
    "std.return": "func.return",
    "std.call": "func.call",
    "std.constant": "arith.constant",
}


# Their loops came first; now they come last.
_LOOPS_FIRST = frozenset(
    (
        "structured.tile_to_foreach_thread_op",
        "structured.tile_to_forall_op",
        "structured.tile_reduction_using_scf",
        "structured.tile_reduction_using_foreach_thread",
    )
)


def rename_payload_ops(op: OpSyntax | BlockLabel) -> Iterable[Finding]:
    """Payload ops that a schedule names: in the types of handles, and in what it matches."""
    for token in op.tokens:
        if token.kind == "string" and (new := _PAYLOAD_NAMES.get(token.text.strip('"'))):
            yield rewrite(op.at, token.text, f'"{new}"', replaced(token, f'"{new}"'))
            return


def rename_op(op: OpSyntax, scope: Scope) -> Iterable[Finding]:
    """Give an op its name of today, and what the old name said beside it."""
    name = op.spelling.removeprefix("transform.")
    if op.is_generic:
        if name in _RENAMED:
            yield hint(
                op.at,
                f"{op.spelling} is today's transform.{_RENAMED[name][0]}",
                "the form without quotes; its attributes may have changed names too",
            )
        return
    if name not in _RENAMED:
        return
    new, until = _RENAMED[name]
    edits = [replaced(op.at, f"transform.{new}")]
    if name in _LOOPS_FIRST and new.endswith(("forall", "for")):
        reordered = _loops_last(op, scope)
        if reordered is None:
            instead = "results in the order: the tiled op first, the loop last"
            yield hint(op.at, f"{op.spelling} gave its loop first", instead)
            return
        edits += reordered
    edits += _with_attributes(op, name)
    yield rewrite(op.at, name, f"transform.{new}", *edits, until=until)


def _with_attributes(op: OpSyntax, name: str) -> list[Replacement]:
    """Return the edits that say in attributes what the old name said."""
    after = next((t for t in op.head if t.kind == "value"), None)
    if name == "get_closest_isolated_parent" and after is not None:
        return [inserted(after.end, " {isolated_from_above}")]
    if name == "loop.get_parent_for" and after is not None:
        tokens = op.head
        dictionary = next((i for i in outside_brackets(tokens) if tokens[i].text == "{"), None)
        entries = [] if dictionary is None else split_list(tokens[dictionary + 1 : closing(tokens, dictionary)])
        said = {e[0].text: source_of(e[2:]) for e in entries}
        loop = (
            "affine.for"
            if said.get("affine", "false") != "false" or ("affine" in said and not said["affine"])
            else "scf.for"
        )
        depth = said.get("num_loops", "1").partition(" ")[0]
        text = f'{{op_name = "{loop}"' + (f", nth_parent = {depth}" if depth != "1" else "") + "}"
        if dictionary is None:
            return [inserted(after.end, " " + text)]
        return [between(tokens[dictionary], tokens[closing(tokens, dictionary)], text)]
    if name == "split_handles":
        return _without_count(op)
    return []


def _without_count(op: OpSyntax) -> list[Replacement]:
    """Return the edit that removes ``in [n]``."""
    tokens = op.head
    for i, token in enumerate(tokens):
        if token.text == "in" and i + 1 < len(tokens) and tokens[i + 1].text == "[":
            before = tokens[i - 1].end if i else token.start
            return [Replacement(before, tokens[closing(tokens, i + 1)].end, "")]
    return []


def _loops_last(op: OpSyntax, scope: Scope) -> list[Replacement] | None:
    """Return the edits that move the first result behind the others, or None where that is not clear."""
    results = op.results
    edits: list[Replacement] = []
    if len(results) == 1 and results[0].count > 1:
        edits = _renumbered(results[0].text, results[0].count, op, scope)
    elif results and any(result.count != 1 for result in results):
        return None
    else:
        names = [result.text for result in results]
        edits = [replaced(result, name) for result, name in zip(results, names[1:] + names[:1], strict=True)]
    signature = signature_of(op)
    if signature.results is not None and len(set(signature.results)) > 1:
        moved = [*signature.results[1:], signature.results[0]]
        edits.append(type_edit(op, signature, functional(signature.operands, moved)))
    return edits


def _renumbered(name: str, count: int, op: OpSyntax, scope: Scope) -> list[Replacement]:
    edits = []
    for token in scope.numbered_uses.get(name, ()):
        if token.start > op.last.start:
            number = (int(token.text.partition("#")[2][:6]) - 1) % count
            edits.append(replaced(token, f"{name}#{number}"))
    return edits
