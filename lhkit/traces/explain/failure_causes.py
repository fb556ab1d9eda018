"""Causes of failures that only the whole trace shows: empty matches, erased targets, lost uses."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from lhkit.model.errors import Diagnostic
from lhkit.model.explanation import Explanation
from lhkit.model.trace_record import HandleRecord, Trace, TraceStep
from lhkit.traces.record.handle_history import display_names, enclosing_steps, states_before
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words, place_ops, source_place
from lhkit.traces.record.placed_values import path_between

_FUSE = "transform.structured.fuse_into_containing_op"
_FOREACH = "transform.foreach"
_REFUSED = ("silenceable", "definite")
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
    if at is None or trace.step_records[at].op != _FUSE or trace.outcome.kind not in _REFUSED:
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
        return _never_used(trace, step, placed, producers, container)
    culprit = trace.step_records[lost.step]
    sentence = (
        f"{head}: step {lost.step} ({culprit.op}) took that use away. Until then the"
        f" {op_in_words(trace, lost.user)} read it{lost.reads and f'; {lost.reads}'}."
    )
    places = [at_step(culprit, "takes the use away"), here]
    if (place := source_place(trace, trace.op(lost.producer))) is not None:
        places.insert(0, Diagnostic("note", f"the producer, {trace.op(lost.producer).name}", place))
    advice = f"Fuse before step {lost.step}, or keep step {lost.step} from the ops that are to be fused."
    return Explanation(sentence, tuple(places), record, lost.step, trace.texts, advice)


def _never_used(
    trace: Trace, step: TraceStep, placed: PlacedOps, producers: list[str], container: list[str]
) -> Explanation:
    """Explain a fusion of what the container never read: what uses it instead, and what to fuse first."""
    producer, into = (display_names(trace)[o.handle] for o in step.operands[:2])
    numbers = {id_: n for n, id_ in enumerate(placed.ids) if id_ is not None}
    inside = {numbers[i] for i in (*_inside(placed, container), *container) if i in numbers}
    sources = [numbers[p] for p in producers if p in numbers]
    using = list(dict.fromkeys(u for each in producers for u in users(placed, each)))
    sentence = (
        f"nothing in {into} reads what {producer} computes, now or in an earlier step;"
        f" {_users_in_words(trace, using)}."
    )
    between = [i for n in (path_between(placed, sources, inside) or ())[1:-1] if (i := placed.ids[n])]
    if between:
        named = [_op_and_handle(trace, step, each) for each in reversed(between)]
        order = ", then ".join([*(handle for _, handle in named), producer])
        told = ", ".join(f"{op} ({handle})" if handle.startswith("%") else op for op, handle in named)
        advice = (
            f"Between {producer} and {into} lies {told}. Fuse {order}, each into the loop that the fusion"
            f" before it gives: {_FUSE} {named[0][1]} into {into} comes first."
        )
    elif path_between(placed, inside, set(sources)):
        advice = (
            f"{producer} is computed from what {into} gives: it is a consumer, and only producers can be fused"
            f" into a loop. Tile {producer}, and fuse what {into} was made from into its loop."
        )
    elif using:
        advice = f"Fuse {producer} into the loop around one of its users."
    else:
        advice = f"Leave this step out: nothing needs {producer} as a tile."
    places = [at_step(step, f"wants to fuse {producer}", "error")]
    for user in using[:_MOST_USERS]:
        if (place := source_place(trace, trace.op(user))) is not None:
            places.append(Diagnostic("note", f"{trace.op(user).name} uses it, and is not in {into}", place))
    return Explanation(sentence, tuple(places), step.operands[0].handle, None, trace.texts, advice)


def _op_and_handle(trace: Trace, step: TraceStep, op: str) -> tuple[str, str]:
    """Return an op in words with its place, and a live handle to it alone when a step began, or its name."""
    words, names = f"the {op_in_words(trace, op)}", display_names(trace)
    short = f"the {trace.op(op).name}"
    live = (c for c in states_before(trace, step.index).values() if c.state == "live")
    return words, next((names[c.handle] for c in live if c.payload == (op,)), short)


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
    listed = [op_in_words(trace, u) for u in users_of[:_MOST_USERS]]
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
        advice = (
            f"Keep step {eraser.index} from erasing later payload ops of the foreach's target: give it other"
            " ops, or match those that are left again and go on with them after the loop."
        )
        return Explanation(sentence, tuple(places), record.id, eraser.index, trace.texts, advice)
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


_ZERO_MATCH, _NO_EFFECT = "zero-match", "no-effect"


def find_empty_match(trace: Trace, step: TraceStep) -> TraceStep | None:
    """Return the first match that found nothing and that a step depends on, or None.

    It is looked for backwards, from operands to the steps that made them, as long as these found nothing or
    did nothing. A fusion also builds on earlier ones into the same loop.
    """
    made_by = {r: s for s in trace.step_records for r in s.results}
    waiting = [step]
    if step.op == _FUSE:
        own = {o.handle for o in step.operands}
        idle = (s for s in trace.step_records[: step.index] if s.op == _FUSE and _warns(s, _NO_EFFECT))
        waiting += [s for s in idle if own.intersection(o.handle for o in s.operands)]
    found: list[TraceStep] = []
    seen: set[int] = set()
    while waiting:
        at = waiting.pop()
        if at.index in seen:
            continue
        seen.add(at.index)
        for operand in at.operands:
            maker = made_by.get(operand.handle)
            if maker is None or maker.index >= at.index:
                continue
            state = next((c.state for c in maker.changes if c.handle == operand.handle), None)
            if _warns(maker, _ZERO_MATCH):
                found.append(maker)
            # Another step fails for reasons of its own where its operands have payload.
            builds_on = at is not step or step.op == _FUSE
            if state == "empty" or (builds_on and _warns(maker, _NO_EFFECT)):
                waiting.append(maker)
    return min(found, key=lambda s: s.index, default=None)


def _is_empty(trace: Trace, step: TraceStep, handle: str) -> bool:
    state = states_before(trace, step.index).get(handle)
    return state is not None and state.state == "empty"


def _warns(step: TraceStep, kind: str) -> bool:
    return any(w.kind == kind for w in step.warnings)


def explain_empty_match(trace: Trace, said: str) -> Explanation | None:
    """Return the match above a failure that found nothing, then the failure; None where there is none.

    ``said`` is what fails, as a sentence without its full stop.
    """
    at = trace.outcome.failed_step
    step = None if at is None else trace.step_records[at]
    match = None if step is None else find_empty_match(trace, step)
    if step is None or match is None:
        return None
    names = display_names(trace)
    found = " and ".join(names[r] for r in match.results)
    why = next(w.message for w in match.warnings if w.kind == _ZERO_MATCH).partition(": ")[2].partition(": ")[2]
    reason = f" ({why})" if why else ""
    sentence = (
        f"step {match.index} ({match.op}) finds nothing, so that {found} is empty{reason}. Step {step.index}"
        f" ({step.op}) fails because of that: {said}."
    )
    empty = [names[o.handle] for o in step.operands if _is_empty(trace, step, o.handle)]
    with_ = f" with {' and '.join(dict.fromkeys(empty))}, which is empty," if empty else ""
    fails = at_step(step, f"fails{with_}", "error")
    places = (at_step(match, f"finds nothing for {found}"), fails)
    advice = f"Mend the match of {found} first; step {step.index} may be right as it is."
    return Explanation(sentence, places, match.results[0], match.index, trace.texts, advice)
