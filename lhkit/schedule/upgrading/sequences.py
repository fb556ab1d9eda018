"""Sequences that were applied as they stood: today the interpreter applies a named sequence of a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lhkit.schedule.lexing import Token
from lhkit.schedule.upgrading.edits import Edit, Finding, Rewrite, between, hint, inserted, replaced, rewrite
from lhkit.schedule.upgrading.signatures import ANY_OP, PDL_OPERATION, source_of, split_list
from lhkit.schedule.upgrading.statements import Statement, closing
from lhkit.schedule.vocabulary import SHORT_NAMES

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


def find_sequences(statements: Sequence[Statement]) -> Iterable[Statement]:
    """Yield the sequences that are applied as they stand, whether in a module or not."""
    for statement in statements:
        if statement.name in TOP_LEVEL and not statement.is_generic:
            yield statement
        elif statement.name in ("module", "builtin.module"):
            for region in statement.regions:
                yield from find_sequences(region.statements)


def entry_bindings(statement: Statement) -> tuple[str, ...]:
    """Return the payload op that each extra argument of a sequence takes, "" where its type does not say."""
    found = []
    for part in _arguments(statement)[1:]:
        match = _OP_TYPE.search(source_of(part))
        found.append(match[1] if match else "")
    return tuple(found)


def to_named_sequence(statement: Statement, name: str) -> Finding:
    """Return the rewrite of a top-level sequence to a module with a named sequence."""
    region = statement.regions[0] if statement.regions else None
    label = region.statements[0] if region and region.statements else None
    if region is None or region.close is None or label is None or label.at.kind != "block":
        return hint(
            statement.at,
            f"{statement.name} at the top level is not applied today",
            f"module attributes {{{_MARK}}} {{ transform.named_sequence @{name}(%root: {ANY_OP}) {{ … }} }}",
        )
    if statement.name == "transform.with_pdl_patterns" and _holds_patterns(region.statements):
        edits = _wrap_patterns(statement, label, name)
    elif any(t.text == "suppress" for t in statement.head):
        edits = _wrap(statement, label, name)
    else:
        edits = _replace(statement, label, name)
    return rewrite(
        statement.at,
        f"{statement.name} at the top level",
        f"transform.named_sequence @{name}",
        *edits,
        until=18,
    )


def _holds_patterns(statements: Sequence[Statement]) -> bool:
    return any(s.name.startswith("pdl.") for s in statements)


def _header(name: str, arguments: str) -> str:
    return f"module attributes {{{_MARK}}} {{\ntransform.named_sequence @{name}({arguments}) {{"


def _replace(statement: Statement, label: Statement, name: str) -> list[Edit]:
    """Turn the sequence itself into the named sequence; its arguments, body and comments stay as they stand."""
    region = statement.regions[0]
    inner = [s for s in region.statements if s is not label]
    arguments = label.head
    opening = f"module attributes {{{_MARK}}} {{\ntransform.named_sequence @{name}"
    last = arguments[-1]  # the colon
    edits = [between(statement.first, label.at, opening), replaced(last, " {")]
    assert_close = region.close
    ending = "" if inner and inner[-1].name in ("transform.yield", "yield") else "  transform.yield\n"
    if statement.name == "transform.with_pdl_patterns":
        ending = "  transform.yield\n"
    if assert_close is not None:
        edits.append(inserted(assert_close.start, ending))
        edits.append(inserted(assert_close.end, "\n}"))
    return edits


def _wrap(statement: Statement, label: Statement, name: str) -> list[Edit]:
    """Keep the sequence, which says how it fails, and put it into a named one."""
    types = [source_of(part[2:]) for part in _arguments(statement)]
    names = [f"%outer{i or ''}" for i in range(len(types))]
    header = _header(name, ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True)))
    position = statement.head[0].start if statement.head else statement.at.end
    return [
        inserted(statement.first.start, f"{header}\n"),
        inserted(position, f"{', '.join(names)} : {', '.join(types)} "),
        inserted(statement.last.end, "\ntransform.yield\n}\n}"),
    ]


def _wrap_patterns(statement: Statement, label: Statement, name: str) -> list[Edit]:
    types = [source_of(part[2:]) for part in _arguments(statement)]
    header = _header(name, f"%outer: {types[0]}")
    return [
        inserted(statement.first.start, f"{header}\n"),
        inserted(statement.at.end, f" %outer : {types[0]}"),
        inserted(statement.last.end, "\ntransform.yield\n}\n}"),
    ]


def _arguments(statement: Statement) -> list[list[Token]]:
    if not statement.regions or not statement.regions[0].statements:
        return []
    tokens = statement.regions[0].statements[0].head
    if not tokens or tokens[0].text != "(":
        return []
    return [part for part in split_list(tokens[1 : closing(tokens, 0)]) if len(part) > 2]


def qualify(statement: Statement) -> Iterable[Rewrite]:
    """Give an op in a sequence the name of the dialect, which was understood there."""
    if statement.is_generic or statement.at.kind != "word" or statement.name.startswith("transform."):
        return
    first = statement.name.partition(".")[0]
    if statement.name in _STRUCTURED:
        new = f"transform.structured.{statement.name}"
    elif (first in _FAMILIES and first != statement.name) or statement.name in _PLAIN:
        new = f"transform.{statement.name}"
    else:
        return
    yield rewrite(statement.at, statement.name, new, replaced(statement.at, new))


def rename_pdl_types(statement: Statement) -> Iterable[Rewrite]:
    """Handles are of a type of the transform dialect, no longer of pdl's."""
    edits = [replaced(t, ANY_OP) for t in (*statement.head, *statement.tail) if t.text == PDL_OPERATION]
    if edits:
        yield rewrite(statement.at, PDL_OPERATION, ANY_OP, *edits, until=18)
