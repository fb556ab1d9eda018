"""Repairs of a match that found nothing: another name, another root, an earlier place."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from lhkit.repairs.repair_context import Candidate, RepairContext, candidate, moved_before, op_at, type_span
from lhkit.text.script import Replacement
from lhkit.text.step_arguments import arguments_of, elements_of

_MOST_OTHERS = 4
_NO_TARGETS = ("arith.", "tensor.", "func.", "builtin.", "affine.apply")


def propose_for_empty_match(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a match that found nothing."""
    yield from _other_names(context)
    yield from other_roots(context)
    yield from _earlier(context)


def _names(context: RepairContext) -> list[tuple[str, int, int]]:
    text = context.script.text
    for argument in arguments_of(context.op):
        if argument.name != "ops":
            continue
        start, end = argument.start, argument.end
        if argument.form == "braces":
            start, end = text.find("[", start, end), text.rfind("]", start, end) + 1
        spans = elements_of(context.op, start, end) if 0 <= start < end else ()
        return [(text[a:b].strip('"'), a, b) for a, b in spans]
    return []


def _other_names(context: RepairContext) -> Iterator[Candidate]:
    alive = context.history.alive_before(context.step.index)
    there = list(dict.fromkeys(op.name for op in alive))
    for name, start, end in _names(context):
        if name in there:
            continue
        for doubt, near in _near_names(context, name, there):
            title = f"Match {near}, which is there, instead of {name}"
            edit = Replacement(start, end, f'"{near}"')
            typed = f'!transform.op<"{name}">'
            retyped = f'!transform.op<"{near}">'
            places = (match.span() for match in re.finditer(re.escape(typed), context.script.text))
            edits = [edit, *(Replacement(*place, retyped) for place in places)]
            yield candidate("other-name", title, context.script, edits, doubt)


def _near_names(context: RepairContext, name: str, there: list[str]) -> list[tuple[int, str]]:
    """Return (doubt, name) of existing ops that may be meant by a name that no op has."""
    dialect, _, mnemonic = name.rpartition(".")
    gone = [o.id for o in context.history.dead_before(context.step.index) if o.name == name]
    came = {o.name for o in context.history.descendants(gone)}
    kin = [n for n in there if n.rpartition(".")[0] == dialect]
    by_mnemonic = {n.rpartition(".")[2]: n for n in kin}
    close = difflib.get_close_matches(mnemonic, by_mnemonic, 3)
    # linalg.max is nearer to linalg.maximum than linalg.matmul, which has more letters in common with it.
    close.sort(key=lambda m: not (mnemonic.startswith(m) or m.startswith(mnemonic)))
    doubts: dict[str, int] = {}

    def add(doubt: int, names: Iterable[str]) -> None:
        for near in names:
            doubts.setdefault(near, doubt)

    add(0, [n for n in kin if n in came])
    add(1, [n for n in there if n in came and not n.startswith(_NO_TARGETS)])
    new = [by_mnemonic[m] for m in close if by_mnemonic[m] not in doubts]
    add(0, new[:1])
    add(1, new)
    add(0, [n for n in there if n.rpartition(".")[2] == mnemonic])
    add(1, difflib.get_close_matches(name, there, 2))
    add(2, [n for n in there if n == f"{dialect}.generic"])
    others = [n for n in kin if n not in doubts and not n.endswith((".yield", ".return"))]
    add(3, others[:_MOST_OTHERS])
    return [(doubt, near) for near, doubt in doubts.items()]


def other_roots(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that search in other payload ops."""
    for use in context.op.operands:
        for root in context.roots_to_search():
            if root.value == use.text:
                continue
            span = type_span(context.script, context.op, use)
            if span is None:
                continue
            edits = [Replacement(use.start, use.end, root.value), Replacement(*span, root.type)]
            title = f"Look in {root.value} instead of {use.text}"
            yield candidate("other-root", title, context.script, edits, 1)


def _earlier(context: RepairContext) -> Iterator[Candidate]:
    """Yield the candidate that moves the match before the step that erased the ops."""
    names = {name for name, _, _ in _names(context)}
    died = [
        o.died
        for o in context.history.dead_before(context.step.index)
        if o.name in names and o.died is not None
    ]
    if not died:
        return
    last = max(died)
    target = op_at(context.script, context.trace.step_records[last])
    moved = moved_before(context.script, context.op, target) if target is not None else None
    if moved is not None:
        title = f"Move step {context.step.index} before step {last}, which takes the ops away"
        yield candidate("move-before", title, context.script, moved, 1)
