"""The compiler's messages in the words of the schedule's author: names of handles, each place once."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from lhkit.model.errors import Diagnostic
from lhkit.model.span import Span, excerpt
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.handle_history import display_names

_TYPE = r"(?:\([^()]*\)|![\w.]+(?:<(?:[^<>]|<[^<>]*>)*>)?)"
# A handle in a message is printed as the op that defines it, in the generic form.
_PRINTED = re.compile(
    rf'(?:%\d+(?::\d+)? = )?"(?P<op>transform\.[\w.]+)"\([^()]*\).*? : \([^()]*\) -> {_TYPE}', re.DOTALL
)
_ARGUMENT = re.compile(rf"<block argument> of type '{_TYPE}' at index: \d+")


def with_named_handles(trace: Trace) -> Trace:
    """Return a trace whose diagnostics name handles as the author wrote them, not as ops of the compiler."""
    steps = list(trace.step_records)
    for at, step in enumerate(steps):
        if any(_mentions_handle(d.message) for d in step.diagnostics):
            named = tuple(_named(trace, step, d) for d in step.diagnostics)
            steps[at] = dataclasses.replace(step, diagnostics=named)
    return dataclasses.replace(trace, step_records=tuple(steps))


def _mentions_handle(message: str) -> bool:
    return '"transform.' in message or "<block argument>" in message


def _named(trace: Trace, step: TraceStep, diagnostic: Diagnostic) -> Diagnostic:
    names = display_names(trace)

    def name(match: re.Match[str]) -> str:
        op = match.groupdict().get("op")
        makers = {o.handle: trace.handle(o.handle).defined_by for o in step.operands}
        # A block argument is defined by the op around its block, which is never printed for it.
        of_op = [h for h, by in makers.items() if by >= 0 and trace.step_records[by].op == op]
        found = of_op if op else list(makers)
        return names[found[0]] if len(found) == 1 else match[0]

    message = _ARGUMENT.sub(name, _PRINTED.sub(name, diagnostic.message))
    notes = tuple(_named(trace, step, note) for note in diagnostic.notes)
    return dataclasses.replace(diagnostic, message=message, notes=notes)


def each_place_once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return diagnostics without those that only point to places which ones before them have explained.

    lhkit's reason comes before the compiler's, which often names the same places and gives no reason.
    """
    kept: list[Diagnostic] = []
    seen: set[Span] = set()
    for diagnostic in diagnostics:
        places = list(_places(diagnostic))
        if diagnostic.severity == "error" and seen and places and seen.issuperset(places):
            continue
        notes = tuple(n for n in diagnostic.notes if n.span is None or n.span not in seen)
        kept.append(dataclasses.replace(diagnostic, notes=notes))
        seen.update(places)
    return tuple(kept)


def _places(diagnostic: Diagnostic) -> Iterator[Span]:
    if diagnostic.span is not None:
        yield diagnostic.span
    for note in diagnostic.notes:
        yield from _places(note)


def compiler_text(trace: Trace) -> str:
    """Return all that MLIR said about the failed step, whole, with places; "" if it gave no reason."""
    at = trace.outcome.failed_step
    said = () if at is None else trace.step_records[at].diagnostics
    lines = []
    for diagnostic in said:
        for each in (diagnostic, *diagnostic.notes):
            place = f"{each.span}: " if each.span else ""
            lines.append(f"{place}{each.severity}: {each.message.strip()}")
            if each.span and (shown := excerpt(each.span, dict(trace.texts))):
                lines.append(shown)
    return "\n".join(lines)


_COUNTED = re.compile(r"(%\S+) expected to contain (\d+) payloads but it contains (\d+) payloads")
_OPERAND = re.compile(r"asks for operand (\d+); this (\S+) has (\d+) operands")
_SINGLE = re.compile(r"requires exactly one (\w+) handle \(got (\d+)\)")


def advice_on(message: str) -> str | None:
    """Return what to do about a message of the compiler that says what is wrong and not what would be right."""
    if (said := _COUNTED.search(message)) is not None:
        name, wanted, there = said.groups()
        s = "" if there == "1" else "s"
        return f"{name} points to {there} op{s}: name {there} result{s}, or split a handle to {wanted} ops."
    if (said := _OPERAND.search(message)) is not None:
        last = int(said[3]) - 1
        return f"Operands are counted from 0, inputs first: write {f'0 to {last}' if last else '0'}."
    if (said := _SINGLE.search(message)) is not None and said[2] != "0":
        return f"Take one of the {said[2]} with transform.split_handle, or do the step in a transform.foreach."
    return None


def wanted_one(message: str) -> int | None:
    """Return to how many ops a handle points that has to point to one, if a message says so."""
    return int(said[2]) if (said := _SINGLE.search(message)) is not None and said[2] != "0" else None


def first_error(step: TraceStep) -> str:
    """Return the first line of the first error of a step, "" if the compiler gave no reason."""
    said = next((d.message for d in step.diagnostics if d.severity == "error"), "")
    return said.strip().partition("\n")[0].strip()
