"""Repairs of a text that does not parse or verify, by the compiler's message."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from lhkit.model.errors import Diagnostic
from lhkit.repairs.repair_context import (
    Candidate,
    candidate,
    distinct,
    edit_candidate,
    moved_before,
    type_span,
    with_more_results,
    without_last_results,
)
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.parser import CLOSERS, closing
from lhkit.text.script import (
    SEQUENCE,
    Replacement,
    Script,
    fresh_name,
    names_in,
    put_after,
    put_before,
    renamed,
)
from lhkit.text.step_edits import move_step

_MARK = "transform.with_named_sequence"


class TextError(NamedTuple):
    """The place of the first error that the compiler reports for a text that does not load."""

    script: Script
    offset: int
    op: OpSyntax  # The innermost op around the place
    use: Use | None  # The use of a handle at the place


def propose_for_text(script: Script, diagnostic: Diagnostic) -> list[Candidate]:
    """Return the candidates for a text that does not load, in the order of trial."""
    span = diagnostic.span
    starts = script.syntax.line_starts
    if span is None or not 1 <= span.line <= len(starts):
        return []
    offset = starts[span.line - 1] + span.column - 1
    around = [op for op in script.syntax.walk() if op.start <= offset < op.end]
    if not around:
        return []
    use = next((u for u in around[-1].operands if u.start <= offset < u.end), None)
    error = TextError(script, offset, around[-1], use)
    said = " ".join([diagnostic.message, *(n.message for n in diagnostic.notes)])
    matches = ((re.search(pattern, said), propose) for pattern, propose in _RULES.items())
    return distinct(found for match, propose in matches if match is not None for found in propose(error, match))


def _undeclared(error: TextError, _match: re.Match[str]) -> Iterator[Candidate]:
    script, _, op, use = error
    if use is None:
        return
    seen = script.handles.in_sight(script.handles.scope_at(op.start))
    values = [v for d in seen.values() if d.name.start < op.start for v in d.name.values]
    near = difflib.get_close_matches(use.text, values, 3, cutoff=0.5)
    for i, value in enumerate(dict.fromkeys(near)):
        title = f"Write {value}: nothing defines {use.text}"
        yield candidate("spelling", title, script, [Replacement(use.start, use.end, value)], min(i, 1))


def _used_too_early(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    """Yield candidates for a step that is written before the one which defines its operand."""
    script, _, op, _ = error
    for use in op.operands[int(match[1]) :][:1]:
        for defined in script.handles.definitions:
            if use.text not in defined.name.values or defined.is_argument or defined.op.start < op.start:
                continue
            what, it = script.describe(defined.op), script.describe(op)
            behind = partial(move_step, script, script.number_of(op), after=script.number_of(defined.op))
            yield from edit_candidate("order", f"Move {it} behind {what}, which defines {use.text}", behind)
            if (edits := moved_before(script, defined.op, op)) is not None:
                yield candidate("order", f"Move {what} before {it}, which uses {use.text}", script, edits)


def _unknown_sequence(error: TextError, _match: re.Match[str]) -> Iterator[Candidate]:
    script, _, op, _ = error
    known = [s.symbol for s in script.steps if s.name == SEQUENCE]
    inside = (t for t in script.syntax.tokens if t.kind == "symbol" and op.start <= t.start < op.end)
    for symbol in itertools.islice(inside, 1):
        for i, name in enumerate(difflib.get_close_matches(symbol.text, known, 2)):
            edit = Replacement(symbol.start, symbol.end, name)
            yield candidate("spelling", f"Write {name}: nothing defines {symbol.text}", script, [edit], i)


def _wrong_type(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    for use in error.op.operands[int(match[1]) :][:1]:
        yield from _cast(error.script, error.op, use, match[3], f'!transform.op<"{match[2]}">')


def _other_type(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    """Yield candidates for a use whose type differs from the definition's."""
    script, _, op, use = error
    wanted, given = match[1], match[2]
    if use is None:
        return
    if (span := type_span(script, op, use)) is not None:
        title = f"Write {given} for {use.text}, as it is defined"
        yield candidate("type", title, script, [Replacement(*span, given)])
    yield from _cast(script, op, use, given, wanted)


def _cast(script: Script, op: OpSyntax, use: Use, given: str, wanted: str) -> Iterator[Candidate]:
    span = type_span(script, op, use)
    if span is None:
        return
    new = fresh_name(f"{use.name}_cast", names_in(script.text))
    line = f"{new} = transform.cast {use.text} : {given} to {wanted}"
    edits = [
        put_before(script.text, op, line),
        Replacement(use.start, use.end, new),
        Replacement(*span, wanted),
    ]
    yield candidate("cast", f"Cast {use.text} to {wanted}, which the step takes", script, edits)


def _not_marked_consumed(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    if error.op.name == SEQUENCE:
        yield from marked(error.script, error.op, int(match[1]), "consumed")


def _no_effects(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    """Yield candidates for an included sequence with an argument that is not marked."""
    for op in error.script.steps:
        if op.name == SEQUENCE and op.symbol == error.op.symbol:
            # One that is read-only in truth passes as consumed too, but would kill handles: it is tried last.
            yield from marked(error.script, op, int(match[1]), "readonly")
            yield from marked(error.script, op, int(match[1]), "consumed", doubt=1)


def marked(script: Script, op: OpSyntax, number: int, mark: str, doubt: int = 0) -> Iterator[Candidate]:
    """Yield the candidate that marks an argument of a named sequence as consumed or as readonly."""
    argument = op.arguments[number] if number < len(op.arguments) else None
    if argument is None or argument.type_span is None:
        return
    title = f"Mark {argument.text} as {'consumed, which it is' if mark == 'consumed' else 'read-only'}"
    yield candidate("mark", title, script, [_with_mark(op, argument.type_span[1], mark)], doubt)


def _with_mark(sequence: OpSyntax, end: int, mark: str) -> Replacement:
    """Return the replacement that puts a mark behind an argument's type, or in place of the other mark."""
    behind = sequence.tokens_in(end, sequence.end)
    if not behind or behind[0].text != "{":
        return Replacement(end, end, f" {{transform.{mark}}}")
    inside = behind[1 : closing(behind, 0)]
    other = next((t for t in inside if t.text in ("transform.readonly", "transform.consumed")), None)
    if other is not None:
        return Replacement(other.start, other.end, f"transform.{mark}")
    at = behind[0].end
    return Replacement(at, at, f"transform.{mark}, " if inside else f"transform.{mark}")


def _no_terminator(error: TextError, _match: re.Match[str]) -> Iterator[Candidate]:
    script = error.script
    for op in script.steps:
        ops = op.regions[-1].ops if op.regions else ()
        is_around = op.name == SEQUENCE and op.start <= error.offset < op.end
        if is_around and ops and ops[-1].name != "transform.yield":
            edit = put_after(script.text, ops[-1], "transform.yield")
            yield candidate("structure", "End the sequence with transform.yield", script, [edit])


def _no_module_mark(error: TextError, _match: re.Match[str]) -> Iterator[Candidate]:
    script = error.script
    around = [op for op in script.syntax.walk() if op.start <= error.offset < op.end]
    modules = [op for op in around if op.name == "builtin.module" and op.regions]
    if not modules:
        return
    module = modules[-1]
    attributes = next((g for g in module.groups if g.keyword == "attributes"), None)
    if attributes is not None:
        at = attributes.start + 1
        has_more = bool(script.text[at : attributes.end - 1].strip())
        edit = Replacement(at, at, f"{_MARK}, " if has_more else _MARK)
    else:
        at = module.regions[0].start
        edit = Replacement(at, at, f"attributes {{{_MARK}}} ")
    yield candidate("structure", f"Give the module the attribute {_MARK}", script, [edit])


def _bound_results(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    script, _, op, _ = error
    there, named = int(match[1]), int(match[2])
    if not op.results or sum(n.count for n in op.results) != named or there < 1:
        return
    title = f"Name {there} results, as many as the step has"
    last = op.results[-1]
    if there > named:
        # One name for the rest: uses of the last handle still mean the same one.
        edit = Replacement(last.start, last.end, f"{last.text}:{last.count + there - named}")
    else:
        kept, left = [], there
        for name in op.results:
            if left > 0:
                kept.append(replace(name, count=min(name.count, left)).written)
                left -= name.count
        edit = Replacement(op.results[0].start, last.end, ", ".join(kept))
    yield candidate("structure", title, script, [edit])


def _loop_results(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    script, _, op, _ = error
    wanted, given = int(match[1]), int(match[2])
    if given > wanted:
        edits = without_last_results(script, op, given - wanted)
    else:
        taken = names_in(script.text)
        names: list[str] = []
        for _ in range(wanted - given):
            names.append(fresh_name("%loop", taken | set(names)))
        edits = with_more_results(script, op, names)
    if edits:
        title = f"Name {wanted} loops, one for each size that is not 0"
        yield candidate("structure", title, script, edits)


def _result_count(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    script, _, op, _ = error
    wanted, given = int(match[1]), len(op.values)
    edits = without_last_results(script, op, given - wanted) if given > wanted else None
    if edits:
        title = f"Name {wanted} results, as many as {op.name} has"
        yield candidate("structure", title, script, edits)


def _defined_twice(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    """Yield candidates that rename the second of two definitions of one name, with its uses."""
    script, offset, _, _ = error
    for definition in script.handles.definitions:
        if definition.name.text == match[1] and definition.name.start <= offset < definition.name.end:
            new = fresh_name(match[1], names_in(script.text))
            title = f"Call it {new}: {match[1]} is defined above already"
            yield candidate("spelling", title, script, renamed(definition, new))


def _unknown_word(error: TextError, match: re.Match[str]) -> Iterator[Candidate]:
    text = error.script.text
    at = error.offset
    written = re.compile(r"[\w.]+").search(text, at)
    if written is None or any(c in text[at : written.start()] for c in CLOSERS.values()):
        return
    by_folded = {word.strip().lower(): word.strip() for word in match[1].split(",")}
    near = difflib.get_close_matches(written[0].lower(), by_folded, 2, cutoff=0.5)
    for doubt, word in enumerate(by_folded[n] for n in near):
        title = f"Write {word} instead of {written[0]}"
        yield candidate(
            "spelling", title, error.script, [Replacement(written.start(), written.end(), word)], doubt
        )


_RULES: Mapping[str, Callable[[TextError, re.Match[str]], Iterator[Candidate]]] = {
    r"use of undeclared SSA value name": _undeclared,
    r"operand #(\d+) does not dominate this use": _used_too_early,
    r"does not reference a named transform sequence": _unknown_sequence,
    r"operand #(\d+) must be Transform IR handle to (\S+) operations, but got '([^']+)'": _wrong_type,
    r"expects different type than prior uses: '([^']+)' vs '([^']+)'": _other_type,
    r"argument #(\d+) is consumed in the body but is not marked as such": _not_marked_consumed,
    r"no effects specified for operand #(\d+)": _no_effects,
    r"expected 'transform.yield' as terminator": _no_terminator,
    r"expects the parent symbol table to have the 'transform.with_named_sequence' attribute": _no_module_mark,
    r"operation defines (\d+) results? but was provided (\d+) to bind": _bound_results,
    r"expected number of loops to tile \((\d+)\) to match number of `loops` results \((\d+)\)": _loop_results,
    r"op expected (\d+) results?": _result_count,
    r"redefinition of SSA value '(%[^']+)'": _defined_twice,
    r"one of the following enum values for attribute '\w+' \[([^\]]*)\]": _unknown_word,
}
