"""Candidates for a match that matched nothing: another name, another place to look in, an earlier moment."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.repairs.moved_steps import moved_before
from lhkit.repairs.repair_context import Candidate, Situation, candidate, op_at, type_span
from lhkit.text.script import Replacement
from lhkit.text.step_arguments import arguments_of, elements_of

_MOST_OTHERS = 4
_NO_TARGETS = ("arith.", "tensor.", "func.", "builtin.", "affine.apply")


def origin_of_emptiness(trace: Trace, step: TraceStep) -> list[TraceStep]:
    """Return the steps that found nothing and so left operands of a step empty, the last first."""
    by_result = {r: s for s in trace.step_records for r in s.results}
    found: dict[int, TraceStep] = {}
    waiting = [o.handle for o in step.operands]
    seen: set[str] = set()
    while waiting:
        handle = waiting.pop()
        maker = by_result.get(handle)
        if handle in seen or maker is None or maker.index >= step.index:
            continue
        seen.add(handle)
        if any(w.kind == "zero-match" for w in maker.warnings):
            found[maker.index] = maker
        elif any(c.handle == handle and c.state == "empty" for c in maker.changes):
            waiting += [o.handle for o in maker.operands]
    return [found[i] for i in sorted(found, reverse=True)]


def candidates_for_zero_match(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates for a step that looks for payload ops and finds none."""
    yield from _other_names(situation)
    yield from other_roots(situation)
    yield from _earlier(situation)


def _names(situation: Situation) -> list[tuple[str, int, int]]:
    """Return the names that a match looks for, with the places of the strings."""
    text = situation.script.text
    for argument in arguments_of(situation.op):
        if argument.name != "ops":
            continue
        start, end = argument.start, argument.end
        if argument.form == "braces":
            start, end = text.find("[", start, end), text.rfind("]", start, end) + 1
        spans = elements_of(situation.op, start, end) if 0 <= start < end else ()
        return [(text[a:b].strip('"'), a, b) for a, b in spans]
    return []


def _other_names(situation: Situation) -> Iterator[Candidate]:
    alive = situation.history.alive_before(situation.step.index)
    there = list(dict.fromkeys(op.name for op in alive))
    for name, start, end in _names(situation):
        if name in there:
            continue
        for doubt, near in enumerate_near(situation, name, there):
            title = f"Match {near}, which is there, instead of {name}"
            edit = Replacement(start, end, f'"{near}"')
            typed = f'!transform.op<"{name}">'
            edits = [edit, *_retyped(situation, typed, f'!transform.op<"{near}">')]
            yield candidate("other-name", title, situation.script.text, edits, doubt)


def _retyped(situation: Situation, old: str, new: str) -> list[Replacement]:
    """Return the replacements of a type throughout the text."""
    found, at = [], situation.script.text.find(old)
    while at >= 0:
        found.append(Replacement(at, at + len(old), new))
        at = situation.script.text.find(old, at + len(old))
    return found


def enumerate_near(situation: Situation, name: str, there: list[str]) -> Iterator[tuple[int, str]]:
    """Yield (doubt, name) of the ops that may have been meant by a name that nothing bears."""
    dialect, _, mnemonic = name.rpartition(".")
    gone = [o.id for o in situation.history.dead_before(situation.step.index) if o.name == name]
    came = {o.name for o in situation.history.descendants(gone)}
    told: set[str] = set()

    def fresh(names: list[str]) -> list[str]:
        chosen = [n for n in dict.fromkeys(names) if n not in told]
        told.update(chosen)
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


def other_roots(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates that look into other payload ops: the ones that are looked for lie elsewhere."""
    for use in situation.op.operands:
        for root in situation.roots_to_search():
            if root.value == use.text:
                continue
            span = type_span(situation.script, situation.op, use)
            if span is None:
                continue
            edits = [Replacement(use.start, use.end, root.value), Replacement(*span, root.type)]
            title = f"Look in {root.value} instead of {use.text}"
            yield candidate("other-root", title, situation.script.text, edits, 1)


def _earlier(situation: Situation) -> Iterator[Candidate]:
    """Yield the candidate that looks before the step which took the ops away."""
    names = {name for name, _, _ in _names(situation)}
    died = [
        o.died
        for o in situation.history.dead_before(situation.step.index)
        if o.name in names and o.died is not None
    ]
    if not died:
        return
    last = max(died)
    target = op_at(situation.script, situation.trace.step_records[last])
    moved = moved_before(situation.script, situation.op, target) if target is not None else None
    if moved is not None:
        title = f"Move step {situation.step.index} before step {last}, which takes the ops away"
        yield candidate("move-before", title, situation.script.text, moved, 1)
