"""Why a match found nothing: what became of the ops that it looks for, or what is there instead."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from lhkit.model.errors import Diagnostic
from lhkit.model.explanation import Explanation
from lhkit.model.trace_record import HandleRecord, PayloadOp, Trace, TraceStep
from lhkit.traces.record.handle_history import PayloadHistory, display_names, states_before
from lhkit.traces.record.placed_ops import op_in_words, source_place
from lhkit.traces.record.schedule_text import ScheduleText

_MOST_NAMES = 6


def near_misses(
    trace: Trace, history: PayloadHistory, step: TraceStep, texts: Mapping[str, ScheduleText]
) -> str | None:
    """Return why a match found nothing, as the end of a sentence; None where it is not known what it looks for.

    Args:
        trace: The trace.
        history: Of the same trace.
        step: A ``transform.structured.match`` whose result is empty.
        texts: The texts by file.
    """
    text = texts.get(step.source.file) if step.source else None
    asked = text.matched_names(step.source) if text and step.source else None
    if asked is None:
        return None
    names, asks_for_more = asked
    within = _payload_of(trace, step)
    alive = history.alive_before(step.index)
    inside = [o for o in alive if history.lies_in(o, within)]
    there = [o for o in inside if o.name in names]
    if there:
        more = "its other conditions exclude them" if asks_for_more else "the payload changed since"
        return f"{_counted(there)} {_are(len(there))} there, and {more}"
    head = f"no {' or '.join(names)} here"
    reasons = [
        _elsewhere(history, [o for o in alive if o.name in names], texts),
        _turned(trace, history, step, names),
    ]
    found = [r for r in reasons if r] or [_spelling(names, inside) or _what_is_there(inside)]
    return f"{head}; {'; '.join(found)}"


def _payload_of(trace: Trace, step: TraceStep) -> set[str]:
    before = states_before(trace, step.index)
    first = {c.handle: c for c in step.changes}
    found: set[str] = set()
    for operand in step.operands:
        change = before.get(operand.handle) or first.get(operand.handle)
        found |= {r for r in change.payload if isinstance(r, str)} if change else set()
    return found


def _elsewhere(
    history: PayloadHistory, ops: Sequence[PayloadOp], texts: Mapping[str, ScheduleText]
) -> str | None:
    if not ops:
        return None
    function = history.around(ops[0], "func.func")
    place = source_place(history.trace, function) if function else None
    text = texts.get(place.file) if place else None
    symbol = text.symbol(place.line) if text and place else None
    where = f"in {symbol}" if symbol else "elsewhere in the payload"
    return f"there {_are(len(ops))} {len(ops)} {where}, outside of what it looks into"


def _turned(trace: Trace, history: PayloadHistory, step: TraceStep, names: Sequence[str]) -> str | None:
    """Return which step took the last of the ops away, and what came of them."""
    gone = [o for o in history.dead_before(step.index) if o.name in names]
    if not gone or gone[-1].died is None:
        return None
    last = max(gone, key=lambda o: (o.died or 0, o.id)).died
    these = [o for o in gone if o.died == last]
    came = [o for o in history.descendants(o.id for o in these) if o.born == last]
    same_kind = [o for o in came if o.name.partition(".")[0] == these[0].name.partition(".")[0]] or came
    op = trace.step_records[last].op if last is not None else ""
    one = len(these) == 1
    what = "the one there was" if one else f"the {len(these)} there were"
    if not same_kind:
        return f"step {last} ({op}) erased {what}"
    return f"step {last} ({op}) turned {what} into {_most_common(o.name for o in same_kind)}"


def _spelling(names: Sequence[str], inside: Sequence[PayloadOp]) -> str | None:
    known = Counter(o.name for o in inside)
    for name in names:
        dialect, _, mnemonic = name.rpartition(".")
        near = [n for n in known if n.partition(".")[2] == mnemonic]
        if not near:
            kin = {n.partition(".")[2]: n for n in known if not dialect or n.startswith(f"{dialect}.")}
            near = [kin[m] for m in difflib.get_close_matches(mnemonic, kin, 2, cutoff=0.7)]
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


def _counted(ops: Sequence[PayloadOp]) -> str:
    return ", ".join(f"{n} {name}" for name, n in Counter(o.name for o in ops).items())


def _most_common(names: object) -> str:
    counts = Counter(names)  # type: ignore[call-overload]
    return " and ".join(name for name, _ in counts.most_common(2))


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# Why a foreach cannot go on: an earlier iteration erased the payload op that comes next.


FOREACH = "transform.foreach"


def explain_erased_target(trace: Trace) -> Explanation | None:
    """Return which step erased the op that a failed or crashed step was to use; None where none did.

    It names the foreach, the iteration, the payload op, and the step that erased it, with places.
    """
    at = trace.outcome.failed_step
    if at is None:
        return None
    step = trace.step_records[at]
    for operand in step.operands:
        record = trace.handle(operand.handle)
        found = _target_of(trace, record, step)
        if found is None:
            continue
        loop, iteration, target = found
        eraser = next((s for s in trace.steps_by_end() if target in s.payload_delta.erased), None)
        if eraser is None or not eraser.index < step.index:
            continue
        return _explanation(trace, step, record, loop, iteration, target, eraser)
    return None


def _target_of(trace: Trace, record: HandleRecord, step: TraceStep) -> tuple[TraceStep, int, str] | None:
    """Return the foreach that a handle is an argument of, the iteration, and the payload op that it is for."""
    loop = trace.step_records[record.defined_by] if record.defined_by >= 0 else None
    if loop is None or loop.op != FOREACH or record.kind != "op":
        return None
    iteration = _iteration(trace, step, loop)
    arguments = [h for h in trace.handle_records if h.defined_by == loop.index]
    if iteration is None or not loop.operands:
        return None
    operand = loop.operands[arguments.index(record) % len(loop.operands)]
    before = states_before(trace, loop.index).get(operand.handle)
    if before is None or iteration >= len(before.payload):
        return None
    target = before.payload[iteration]
    return (loop, iteration, target) if isinstance(target, str) else None


def _iteration(trace: Trace, step: TraceStep, loop: TraceStep) -> int | None:
    while step.parent is not None and step.parent != loop.index:
        step = trace.step_records[step.parent]
    return step.iteration if step.parent == loop.index else None


def _explanation(
    trace: Trace,
    step: TraceStep,
    record: HandleRecord,
    loop: TraceStep,
    iteration: int,
    target: str,
    eraser: TraceStep,
) -> Explanation:
    names, name = display_names(trace), record.name
    op = trace.op(target)
    over = names[loop.operands[0].handle]
    sentence = (
        f"foreach goes on with payload ops that step {eraser.index} ({eraser.op}) erased: in iteration"
        f" {iteration} over {over}, {name} is the {op_in_words(trace, target)}, and that is gone, so that the"
        " interpreter would read freed memory."
    )
    places = [
        Diagnostic("note", f"step {eraser.index} ({eraser.op}) erases the {op.name} here", eraser.source),
        Diagnostic("note", f"step {loop.index} (transform.foreach) goes on with it here", loop.source),
        Diagnostic("error", f"step {step.index} ({step.op}) uses {name} here", step.source),
    ]
    if (place := source_place(trace, op)) is not None:
        places.insert(0, Diagnostic("note", f"the {op.name} that was erased", place))
    return Explanation(sentence, tuple(places), record.id, eraser.index, trace.texts)
