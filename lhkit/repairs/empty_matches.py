"""Repairs of a match that found nothing: another name, another root, an earlier place."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

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
        for doubt, near in enumerate_near(context, name, there):
            title = f"Match {near}, which is there, instead of {name}"
            edit = Replacement(start, end, f'"{near}"')
            typed = f'!transform.op<"{name}">'
            edits = [edit, *_retyped(context, typed, f'!transform.op<"{near}">')]
            yield candidate("other-name", title, context.script.text, edits, doubt)


def _retyped(context: RepairContext, old: str, new: str) -> list[Replacement]:
    found, at = [], context.script.text.find(old)
    while at >= 0:
        found.append(Replacement(at, at + len(old), new))
        at = context.script.text.find(old, at + len(old))
    return found


def enumerate_near(context: RepairContext, name: str, there: list[str]) -> Iterator[tuple[int, str]]:
    """Yield (doubt, name) of existing ops that may be meant by a name that no op has."""
    dialect, _, mnemonic = name.rpartition(".")
    gone = [o.id for o in context.history.dead_before(context.step.index) if o.name == name]
    came = {o.name for o in context.history.descendants(gone)}
    seen: set[str] = set()

    def fresh(names: list[str]) -> list[str]:
        chosen = [n for n in dict.fromkeys(names) if n not in seen]
        seen.update(chosen)
        return chosen

    kin = [n for n in there if n.rpartition(".")[0] == dialect]
    for near in fresh([n for n in kin if n in came]):
        yield 0, near
    if gone:
        for near in fresh([n for n in there if n in came and not n.startswith(_NO_TARGETS)]):
            yield 1, near
    by_mnemonic = {n.rpartition(".")[2]: n for n in kin}
    close = difflib.get_close_matches(mnemonic, by_mnemonic, 3)
    # linalg.max is nearer to linalg.maximum than linalg.matmul, which has more letters in common with it.
    close.sort(key=lambda m: not (mnemonic.startswith(m) or m.startswith(mnemonic)))
    for i, near in enumerate(fresh([by_mnemonic[m] for m in close])):
        yield min(i, 1), near
    for near in fresh([n for n in there if n.rpartition(".")[2] == mnemonic]):
        yield 0, near
    for near in fresh(difflib.get_close_matches(name, there, 2)):
        yield 1, near
    for near in fresh([f"{dialect}.generic"] if f"{dialect}.generic" in there else []):
        yield 2, near
    for near in fresh([n for n in kin if not n.endswith((".yield", ".return"))])[:_MOST_OTHERS]:
        yield 3, near


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
            yield candidate("other-root", title, context.script.text, edits, 1)


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
        yield candidate("move-before", title, context.script.text, moved, 1)
