"""Why a fusion found no producer: which step took away the use that it was to fuse into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lhkit.model.errors import Diagnostic
from lhkit.model.explanation import Explanation
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.handle_history import display_names, states_before
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words, place_ops, source_place

_FUSE = "transform.structured.fuse_into_containing_op"
_MOST_USERS = 3


@dataclass(frozen=True, slots=True)
class LostUse:
    """The last use of a producer by what a fusion was to fuse it into.

    Attributes:
        producer: Id of the payload op whose result was used.
        user: Id of the op that used it.
        step: Index of the step after which it no longer did.
        heir: Id of the op that is there in the user's place (the user itself if it was only changed), or None.
        reads: What the heir reads instead, in words; empty where nothing changed place.
    """

    producer: str
    user: str
    step: int
    heir: str | None
    reads: str


def explain_lost_producer(trace: Trace) -> Explanation | None:
    """Return why a fusion that failed found no use of its producer; None where something else failed.

    The answer names the step that took the use away, or says that there never was one.
    """
    at = trace.outcome.failed_step
    step = None if at is None else trace.step_records[at]
    if step is None or step.op != _FUSE or trace.outcome.kind != "silenceable":
        return None
    producers, container = (_ops_of(trace, step, operand) for operand in (0, 1))
    names = display_names(trace)
    producer, into = (names[o.handle] for o in step.operands[:2])
    last = _last_before(trace, step)
    placed = place_ops(trace, last) if last is not None else None
    if placed is None or not producers or not container:
        return None
    if any(user in _inside(placed, container) for each in producers for user in users(placed, each)):
        return None
    head = f"nothing in {into} reads what {producer} computes"
    lost = find_lost_use(trace, step, producers, container)
    record = step.operands[0].handle
    if lost is None:
        there = _users_in_words(trace, [u for each in producers for u in users(placed, each)])
        sentence = f"{head}, and nothing that it was made from ever did; {there}."
        return Explanation(sentence, (_here(step, producer),), record, None, trace.texts)
    thief = trace.step_records[lost.step]
    sentence = (
        f"{head}: step {lost.step} ({thief.op}) took that use away. Until then the"
        f" {op_in_words(trace, lost.user)} read it{lost.reads and f'; {lost.reads}'}."
    )
    places = [
        Diagnostic("note", f"step {lost.step} ({thief.op}) takes the use away here", thief.source),
        _here(step, producer),
    ]
    if (place := source_place(trace, trace.op(lost.producer))) is not None:
        places.insert(0, Diagnostic("note", f"the producer, {trace.op(lost.producer).name}", place))
    return Explanation(sentence, tuple(places), record, lost.step, trace.texts)


def find_lost_use(
    trace: Trace, step: TraceStep, producers: Iterable[str], container: Iterable[str]
) -> LostUse | None:
    """Return the last use of producers by what lies in a container before a step, or what that was made from.

    Args:
        trace: The trace.
        step: What happened after this step does not count.
        producers: Ids of payload ops.
        container: Ids of payload ops.
    """
    last = _last_before(trace, step)
    placed = place_ops(trace, last) if last is not None else None
    if placed is None:
        return None
    kin = _ancestors(trace, [*_inside(placed, container), *container])
    after = placed
    for earlier, later in _backwards(trace, step):
        before = place_ops(trace, earlier)
        if before is None:
            continue
        for producer in producers:
            if (user := next((u for u in users(before, producer) if u in kin), None)) is not None:
                heir = _heir(trace, after, user, kin)
                return LostUse(producer, user, later, heir, _reads_instead(trace, before, after, user, heir))
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


def _last_before(trace: Trace, step: TraceStep) -> int | None:
    """Return the last step with a snapshot that had ended before another began."""
    return next((s.step for s in reversed(trace.snapshots) if s.step < step.index), None)


def _backwards(trace: Trace, step: TraceStep) -> Iterator[tuple[int, int]]:
    """Yield pairs of snapshots that follow one another, the last before a step first."""
    taken = [s.step for s in trace.snapshots if s.step < step.index]
    for later in range(len(taken) - 1, 0, -1):
        if taken[later] >= 0:
            yield taken[later - 1], taken[later]


def _inside(placed: PlacedOps, container: Iterable[str]) -> list[str]:
    """Return the ids of ops inside of others."""
    held: set[str | None] = set(container)
    found = []
    for number, identity in enumerate(placed.ids):
        if placed.parent_id(number) in held and identity is not None:
            held.add(identity)
            found.append(identity)
    return found


def _ancestors(trace: Trace, ops: Iterable[str]) -> set[str]:
    """Return ops and what they were made from."""
    found: set[str] = set()
    waiting = list(ops)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += trace.op(each).derived_from
    return found


def _heir(trace: Trace, after: PlacedOps, user: str, kin: set[str]) -> str | None:
    """Return the op in the place of a user: itself, else the first of its kind that was made from it."""
    if user in after.ids:
        return user
    made = [i for i in after.ids if i is not None and i in kin and user in _ancestors(trace, [i])]
    same = [i for i in made if trace.op(i).name == trace.op(user).name]
    return next(iter(same or made), None)


def _reads_instead(trace: Trace, before: PlacedOps, after: PlacedOps, user: str, heir: str | None) -> str:
    """Return what an op reads that it did not read before, in words; empty where that is not plain."""
    if heir is None or trace.op(heir).name != trace.op(user).name:
        return ""
    old = {v for op in _named(before, user) for v in op}
    new = [v for op in _named(after, heir) for v in op if v not in old]
    sources = [v for v in new if v[0] not in (user, heir)]
    if not sources:
        return ""
    op, number = sources[0]
    what = trace.op(op).name if isinstance(op, str) else "op"
    read = f"argument {-number - 1} of the {what}" if number < 0 else f"the result of a {what}"
    return f"since then the {trace.op(heir).name} reads {read}"


def _named(placed: PlacedOps, identity: str) -> list[list[tuple[str | int, int]]]:
    op = placed.ir.ops[placed.ids.index(identity)]
    return [placed.named(values) for values in op.values]


def _users_in_words(trace: Trace, users_of: list[str]) -> str:
    if not users_of:
        return "nothing uses it at all"
    listed = [trace.op(u).name for u in users_of[:_MOST_USERS]]
    more = len(users_of) - len(listed)
    return (
        f"{', '.join(listed)}{f' and {more} more' if more else ''} {'use' if len(users_of) > 1 else 'uses'} it"
    )


def _here(step: TraceStep, producer: str) -> Diagnostic:
    return Diagnostic("error", f"step {step.index} ({step.op}) wants to fuse {producer} here", step.source)
