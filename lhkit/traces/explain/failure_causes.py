"""Causes of failures that only the whole trace shows: erased foreach targets, lost uses of a fused producer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from lhkit.model.errors import Diagnostic
from lhkit.model.explanation import Explanation
from lhkit.model.trace_record import HandleRecord, Trace, TraceStep
from lhkit.traces.record.handle_history import display_names, enclosing_steps, states_before
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words, place_ops, source_place

_FUSE = "transform.structured.fuse_into_containing_op"
_FOREACH = "transform.foreach"
_MOST_USERS = 3


@dataclass(frozen=True, slots=True)
class LostUse:
    """The last use of a producer by the container of a fusion, and the step that removed it.

    ``successor`` is the op in the place of the user, or None, and ``reads`` what it reads instead, in words.
    """

    producer: str
    user: str
    step: int
    successor: str | None
    reads: str


def explain_lost_producer(trace: Trace) -> Explanation | None:
    """Return which step removed the use that a failed fusion needed; None if something else failed."""
    at = trace.outcome.failed_step
    if at is None or trace.outcome.kind != "silenceable" or trace.step_records[at].op != _FUSE:
        return None
    step = trace.step_records[at]
    producers, container = (_ops_of(trace, step, operand) for operand in (0, 1))
    names = display_names(trace)
    producer, into = (names[o.handle] for o in step.operands[:2])
    placed = _placed_before(trace, step)
    if placed is None or not producers or not container:
        return None
    if any(user in _inside(placed, container) for each in producers for user in users(placed, each)):
        return None
    head = f"nothing in {into} reads what {producer} computes"
    here = at_step(step, f"wants to fuse {producer}", "error")
    lost = find_lost_use(trace, step, producers, container)
    record = step.operands[0].handle
    if lost is None:
        there = _users_in_words(trace, [u for each in producers for u in users(placed, each)])
        sentence = f"{head}, and nothing that it was made from ever did; {there}."
        return Explanation(sentence, (here,), record, None, trace.texts)
    culprit = trace.step_records[lost.step]
    sentence = (
        f"{head}: step {lost.step} ({culprit.op}) took that use away. Until then the"
        f" {op_in_words(trace, lost.user)} read it{lost.reads and f'; {lost.reads}'}."
    )
    places = [at_step(culprit, "takes the use away"), here]
    if (place := source_place(trace, trace.op(lost.producer))) is not None:
        places.insert(0, Diagnostic("note", f"the producer, {trace.op(lost.producer).name}", place))
    return Explanation(sentence, tuple(places), record, lost.step, trace.texts)


def find_lost_use(
    trace: Trace, step: TraceStep, producers: Iterable[str], container: Iterable[str]
) -> LostUse | None:
    """Return the last use of producers inside a container before a step, origins of its ops included."""
    placed = _placed_before(trace, step)
    if placed is None:
        return None
    kin = _ancestors(trace, [*_inside(placed, container), *container])
    after = placed
    taken = [s.step for s in reversed(trace.snapshots) if s.step < step.index]
    for later, earlier in itertools.pairwise(taken):
        before = place_ops(trace, earlier)
        if before is None:
            continue
        for producer in producers:
            if (user := next((u for u in users(before, producer) if u in kin), None)) is not None:
                successor = _find_successor(trace, after, user, kin)
                reads = _reads_instead(trace, before, after, user, successor)
                return LostUse(producer, user, later, successor, reads)
        after = before
    return None


def users(placed: PlacedOps, producer: str) -> list[str]:
    """Return the ids of the ops that use a result of an op, in the order of the text."""
    if producer not in placed.ids:
        return []
    number = placed.ids.index(producer)
    using = [
        identity
        for at, (op, identity) in enumerate(zip(placed.ir.ops, placed.ids, strict=True))
        if at != number and identity is not None and any(v[0] == number for line in op.values for v in line)
    ]
    return list(dict.fromkeys(using))


def _ops_of(trace: Trace, step: TraceStep, operand: int) -> list[str]:
    state = states_before(trace, step.index).get(step.operands[operand].handle)
    return [r for r in state.payload if isinstance(r, str)] if state else []


def _placed_before(trace: Trace, step: TraceStep) -> PlacedOps | None:
    last = next((s.step for s in reversed(trace.snapshots) if s.step < step.index), None)
    return None if last is None else place_ops(trace, last)


def _inside(placed: PlacedOps, container: Iterable[str]) -> list[str]:
    held: set[str | None] = set(container)
    found = []
    for number, identity in enumerate(placed.ids):
        if placed.parent_id(number) in held and identity is not None:
            held.add(identity)
            found.append(identity)
    return found


def _ancestors(trace: Trace, ops: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(ops)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += trace.op(each).derived_from
    return found


def _find_successor(trace: Trace, after: PlacedOps, user: str, kin: set[str]) -> str | None:
    """Return the op in the place of a user: itself, else one derived from it, preferably of the same name."""
    if user in after.ids:
        return user
    made = [i for i in after.ids if i is not None and i in kin and user in _ancestors(trace, [i])]
    same = [i for i in made if trace.op(i).name == trace.op(user).name]
    return next(iter(same or made), None)


def _reads_instead(trace: Trace, before: PlacedOps, after: PlacedOps, user: str, successor: str | None) -> str:
    """Return in words what an op reads that it did not read before, or ""."""
    if successor is None or trace.op(successor).name != trace.op(user).name:
        return ""
    old = {v for op in _named(before, user) for v in op}
    new = [v for op in _named(after, successor) for v in op if v not in old]
    sources = [v for v in new if v[0] not in (user, successor)]
    if not sources:
        return ""
    op, number = sources[0]
    what = trace.op(op).name if isinstance(op, str) else "op"
    read = f"argument {-number - 1} of the {what}" if number < 0 else f"the result of a {what}"
    return f"since then the {trace.op(successor).name} reads {read}"


def _named(placed: PlacedOps, identity: str) -> list[list[tuple[str | int, int]]]:
    op = placed.ir.ops[placed.ids.index(identity)]
    return [placed.named(values) for values in op.values]


def _users_in_words(trace: Trace, users_of: list[str]) -> str:
    if not users_of:
        return "nothing uses it at all"
    listed = [trace.op(u).name for u in users_of[:_MOST_USERS]]
    more = len(users_of) - len(listed)
    names = ", ".join(listed) + (f" and {more} more" if more else "")
    return f"{names} {'use' if len(users_of) > 1 else 'uses'} it"


def at_step(step: TraceStep, does: str, severity: str = "note") -> Diagnostic:
    """Return a diagnostic at the place of a step about what the step does there."""
    return Diagnostic(severity, f"step {step.index} ({step.op}) {does} here", step.source)


def explain_erased_target(trace: Trace) -> Explanation | None:
    """Return which step erased the op that a failed step in a foreach uses; None where none did."""
    at = trace.outcome.failed_step
    if at is None:
        return None
    step = trace.step_records[at]
    for operand in step.operands:
        record = trace.handle(operand.handle)
        if (found := _target_of(trace, record, step)) is None:
            continue
        loop, iteration, target = found
        eraser = next((s for s in trace.steps_by_end() if target in s.payload_delta.erased), None)
        if eraser is None or eraser.index >= step.index:
            continue
        op, over = trace.op(target), display_names(trace)[loop.operands[0].handle]
        sentence = (
            f"foreach goes on with payload ops that step {eraser.index} ({eraser.op}) erased: in iteration"
            f" {iteration} over {over}, {record.name} is the {op_in_words(trace, target)}, and that is gone, so"
            " that the interpreter would read freed memory."
        )
        places = [
            at_step(eraser, f"erases the {op.name}"),
            at_step(loop, "goes on with it"),
            at_step(step, f"uses {record.name}", "error"),
        ]
        if (place := source_place(trace, op)) is not None:
            places.insert(0, Diagnostic("note", f"the {op.name} that was erased", place))
        return Explanation(sentence, tuple(places), record.id, eraser.index, trace.texts)
    return None


def _target_of(trace: Trace, record: HandleRecord, step: TraceStep) -> tuple[TraceStep, int, str] | None:
    """Return the foreach that a handle is an argument of, the iteration, and its payload op."""
    loop = trace.step_records[record.defined_by] if record.defined_by >= 0 else None
    if loop is None or loop.op != _FOREACH or record.kind != "op":
        return None
    around = [step, *enclosing_steps(trace, step)]
    iteration = next((s.iteration for s in around if s.parent == loop.index), None)
    arguments = [h for h in trace.handle_records if h.defined_by == loop.index]
    if iteration is None or not loop.operands:
        return None
    operand = loop.operands[arguments.index(record) % len(loop.operands)]
    before = states_before(trace, loop.index).get(operand.handle)
    if before is None or iteration >= len(before.payload):
        return None
    target = before.payload[iteration]
    return (loop, iteration, target) if isinstance(target, str) else None
