"""Sequences that were applied as they stood: today the interpreter applies a named sequence of a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lhkit.text.brackets import source_of
from lhkit.text.lexer import Token
from lhkit.text.op_tree import BlockLabel, OpSyntax
from lhkit.text.script import Replacement
from lhkit.text.upgrades.rule_edits import Finding, Rewrite, between, hint, inserted, replaced, rewrite
from lhkit.text.upgrades.signatures import ANY_OP, PDL_OPERATION, arguments_in
from lhkit.text.vocabulary import SHORT_NAMES

TOP_LEVEL = frozenset(
    (
        "transform.sequence",
        "transform.with_pdl_patterns",
        "transform.structured.canonicalized_sequence",
        "transform.with_named_sequence",
    )
)
_MARK = "transform.with_named_sequence"
_OP_TYPE = re.compile(r'!transform\.op<"([^"]+)">')
# Transform ops by their first word, as they stood in sequences without the dialect's name.
_FAMILIES = ("structured", "loop", "match", "param", "debug", "test")
_PLAIN = frozenset(
    (
        *SHORT_NAMES,
        "get_closest_isolated_parent",
        "pdl_match",
        "split_handles",
        "with_pdl_patterns",
        "test_print_remark_at_operand",
        "test_print_param",
        "test_print_number_of_associated_payload_ir_ops",
        "test_consume_operand",
        "tile_to_foreach_thread_op",
    )
)
# Structured ops that a few years ago needed no prefix at all.
_STRUCTURED = frozenset(("tile_to_foreach_thread_op",))


def find_sequences(ops: Sequence[OpSyntax]) -> Iterable[OpSyntax]:
    """Yield the sequences that are applied as they stand, whether in a module or not."""
    for op in ops:
        if op.spelling in TOP_LEVEL and not op.is_generic:
            yield op
        elif op.spelling in ("module", "builtin.module"):
            for region in op.regions:
                yield from find_sequences(region.ops)


def entry_bindings(op: OpSyntax) -> tuple[str, ...]:
    """Return the payload op that each extra argument of a sequence takes, "" where its type does not say."""
    found = []
    for part in _arguments(op)[1:]:
        match = _OP_TYPE.search(source_of(part))
        found.append(match[1] if match else "")
    return tuple(found)


def to_named_sequence(op: OpSyntax, name: str) -> Finding:
    """Return the rewrite of a top-level sequence to a module with a named sequence."""
    region = op.regions[0] if op.regions else None
    label = region.blocks[0].label if region and region.blocks else None
    if region is None or not region.is_closed or label is None:
        return hint(
            op.at,
            f"{op.spelling} at the top level is not applied today",
            f"module attributes {{{_MARK}}} {{ transform.named_sequence @{name}(%root: {ANY_OP}) {{ … }} }}",
        )
    if op.spelling == "transform.with_pdl_patterns" and _holds_patterns(region.ops):
        edits = _wrap_patterns(op, label, name)
    elif any(t.text == "suppress" for t in op.head):
        edits = _wrap(op, label, name)
    else:
        edits = _replace(op, label, name)
    return rewrite(
        op.at,
        f"{op.spelling} at the top level",
        f"transform.named_sequence @{name}",
        *edits,
        until=18,
    )


def _holds_patterns(ops: Sequence[OpSyntax]) -> bool:
    return any(s.spelling.startswith("pdl.") for s in ops)


def _header(name: str, arguments: str) -> str:
    return f"module attributes {{{_MARK}}} {{\ntransform.named_sequence @{name}({arguments}) {{"


def _replace(op: OpSyntax, label: BlockLabel, name: str) -> list[Replacement]:
    """Turn the sequence itself into the named sequence; its arguments, body and comments stay as they stand."""
    region = op.regions[0]
    opening = f"module attributes {{{_MARK}}} {{\ntransform.named_sequence @{name}"
    ends = region.ops and region.ops[-1].spelling in ("transform.yield", "yield")
    ending = "" if ends and op.spelling != "transform.with_pdl_patterns" else "  transform.yield\n"
    return [
        between(op.first, label.at, opening),
        replaced(label.tokens[-1], " {"),
        inserted(region.end - 1, ending),
        inserted(region.end, "\n}"),
    ]


def _wrap(op: OpSyntax, label: BlockLabel, name: str) -> list[Replacement]:
    """Keep the sequence, which says how it fails, and put it into a named one."""
    types = [source_of(part[2:]) for part in _arguments(op)]
    names = [f"%outer{i or ''}" for i in range(len(types))]
    header = _header(name, ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True)))
    position = op.head[0].start if op.head else op.at.end
    return [
        inserted(op.start, f"{header}\n"),
        inserted(position, f"{', '.join(names)} : {', '.join(types)} "),
        inserted(op.end, "\ntransform.yield\n}\n}"),
    ]


def _wrap_patterns(op: OpSyntax, label: BlockLabel, name: str) -> list[Replacement]:
    types = [source_of(part[2:]) for part in _arguments(op)]
    header = _header(name, f"%outer: {types[0]}")
    return [
        inserted(op.start, f"{header}\n"),
        inserted(op.at.end, f" %outer : {types[0]}"),
        inserted(op.end, "\ntransform.yield\n}\n}"),
    ]


def _arguments(op: OpSyntax) -> list[list[Token]]:
    label = op.regions[0].blocks[0].label if op.regions and op.regions[0].blocks else None
    return [part for part in arguments_in(label.tokens) if len(part) > 2] if label else []


def qualify(op: OpSyntax) -> Iterable[Rewrite]:
    """Give an op in a sequence the name of the dialect, which was understood there."""
    if op.is_generic or op.at.kind != "word" or op.spelling.startswith("transform."):
        return
    first = op.spelling.partition(".")[0]
    if op.spelling in _STRUCTURED:
        new = f"transform.structured.{op.spelling}"
    elif (first in _FAMILIES and first != op.spelling) or op.spelling in _PLAIN:
        new = f"transform.{op.spelling}"
    else:
        return
    yield rewrite(op.at, op.spelling, new, replaced(op.at, new))


def rename_pdl_types(op: OpSyntax | BlockLabel) -> Iterable[Rewrite]:
    """Handles are of a type of the transform dialect, no longer of pdl's."""
    edits = [replaced(t, ANY_OP) for t in op.tokens if t.text == PDL_OPERATION]
    if edits:
        yield rewrite(op.at, PDL_OPERATION, ANY_OP, *edits, until=18)
