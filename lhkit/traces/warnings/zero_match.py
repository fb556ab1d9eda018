"""Near misses of a match that found nothing: erased ops, other places, similar names."""

from __future__ import annotations

import dataclasses
import difflib
from collections import Counter
from collections.abc import Collection, Sequence

from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadOp, Trace, TraceStep, TraceWarning
from lhkit.traces.explain.match_conditions import excluding_condition, other_value
from lhkit.traces.record.handle_history import PayloadHistory, states_before
from lhkit.traces.record.placed_ops import source_place

_MOST_NAMES = 6


def near_misses(history: PayloadHistory, step: TraceStep) -> str | None:
    """Return why a match found nothing, as the end of a sentence; None if that is not known, or allowed."""
    text = history.texts.get(step.source.file) if step.source else None
    if text is None or step.source is None or "zero-match" in text.allowed(step.source.line):
        return None
    asked = text.matched_names(step.source)
    within = _payload_of(history.trace, step)
    alive = history.alive_before(step.index)
    inside = [o for o in alive if history.lies_in(o, within)]
    if asked is None:
        clauses = text.clauses_of(step.source)
        return other_value(history.trace, step, clauses, {o.id for o in inside}) or None
    names, asks_for_more = asked
    there = [o for o in inside if o.name in names]
    if there:
        more = "the payload changed since"
        if asks_for_more:
            more = excluding_condition(history.trace, step, text.clauses_of(step.source), {o.id for o in there})
        listed = ", ".join(f"{n} {name}" for name, n in Counter(o.name for o in there).items())
        return f"{listed} {_are(len(there))} there, and {more}"
    head = f"no {' or '.join(names)} here"
    elsewhere = _elsewhere(history, [o for o in alive if o.name in names])
    reasons = [r for r in (elsewhere, _replacement(history, step, names)) if r]
    return f"{head}; {'; '.join(reasons or [_spelling(names, inside) or _what_is_there(inside)])}"


def _payload_of(trace: Trace, step: TraceStep) -> set[str]:
    before = states_before(trace, step.index)
    first = {c.handle: c for c in step.changes}
    found: set[str] = set()
    for operand in step.operands:
        change = before.get(operand.handle) or first.get(operand.handle)
        found |= {r for r in change.payload if isinstance(r, str)} if change else set()
    return found


def _elsewhere(history: PayloadHistory, ops: Sequence[PayloadOp]) -> str | None:
    if not ops:
        return None
    function = history.around(ops[0], "func.func")
    place = source_place(history.trace, function) if function else None
    text = history.texts.get(place.file) if place else None
    symbol = text.symbol(place.line) if text and place else None
    where = f"in {symbol}" if symbol else "elsewhere in the payload"
    return f"there {_are(len(ops))} {len(ops)} {where}, outside of what it looks into"


def _replacement(history: PayloadHistory, step: TraceStep, names: Sequence[str]) -> str | None:
    """Return which step erased the last matching ops, and what they became."""
    gone = [o for o in history.dead_before(step.index) if o.name in names]
    if not gone or gone[-1].died is None:
        return None
    last = max(gone, key=lambda o: (o.died or 0, o.id)).died
    these = [o for o in gone if o.died == last]
    came = [o for o in history.descendants(o.id for o in these) if o.born == last]
    same_kind = [o for o in came if o.name.partition(".")[0] == these[0].name.partition(".")[0]] or came
    op = history.trace.step_records[last].op if last is not None else ""
    one = len(these) == 1
    what = "the one there was" if one else f"the {len(these)} there were"
    if not same_kind:
        return f"step {last} ({op}) erased {what}"
    became = " and ".join(name for name, _ in Counter(o.name for o in same_kind).most_common(2))
    return f"step {last} ({op}) turned {what} into {became}"


def _spelling(names: Sequence[str], inside: Sequence[PayloadOp]) -> str | None:
    known = Counter(o.name for o in inside)
    for name in names:
        dialect, _, mnemonic = name.rpartition(".")
        near = [n for n in known if n.partition(".")[2] == mnemonic]
        if not near:
            kin = {n.partition(".")[2]: n for n in known if not dialect or n.startswith(f"{dialect}.")}
            close = difflib.get_close_matches(mnemonic, kin, 2, cutoff=0.7)
            # "maximum" is farther from "max" by letters than it is in meaning.
            close += [m for m in kin if len(m) > 2 and m not in close and mnemonic.startswith(m)]
            near = [kin[m] for m in close[:2]]
        if near:
            return f"did you mean {' or '.join(f'{n} (there {_are(known[n])} {known[n]})' for n in near)}?"
    return None


def _what_is_there(inside: Collection[PayloadOp]) -> str:
    counts = Counter(o.name for o in inside if not o.name.endswith((".yield", ".return", "builtin.module")))
    named = [f"{n} {name}" for name, n in counts.most_common(_MOST_NAMES)]
    more = len(counts) - len(named)
    if not named:
        return "there is nothing in it"
    return f"there are {', '.join(named)}" + (f" and {more} other kinds" if more > 0 else "")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


_MATCH = "transform.structured.match"


def with_near_misses(history: PayloadHistory) -> list[TraceStep]:
    """Return the steps of a trace; the first execution of a match that found nothing says why."""
    searched: set[Span | None] = set()
    steps = list(history.trace.step_records)
    for index, step in enumerate(steps):
        warnings = list(step.warnings)
        place = next((i for i, w in enumerate(warnings) if w.kind == "zero-match"), None)
        if step.op != _MATCH or place is None or step.source in searched:
            continue
        searched.add(step.source)
        if (why := near_misses(history, step)) is not None:
            warnings[place] = TraceWarning("zero-match", f"{warnings[place].message}: {why}")
            steps[index] = dataclasses.replace(step, warnings=tuple(warnings))
    return steps
