"""Which structured op of a payload a tile picture is of: that with most work, or the one that is asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from lhkit.model.tiling import StructuredOp, Tilings
from lhkit.model.trace_record import PayloadOp, Trace
from lhkit.tiles.tile_facts import work_of
from lhkit.traces.record.payload_history import PayloadHistory

_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "affine.for")


def most_work(
    tilings: Tilings, ops: Iterable[StructuredOp], shapes: Sequence[Sequence[int]] | None = None
) -> StructuredOp | None:
    """Return the op that computes most; of equal ones that with most points, and of those the first."""
    ranked = sorted(ops, key=lambda o: (work_of(tilings, o, shapes), -o.number), reverse=True)
    return ranked[0] if ranked else None


def total_work(tilings: Tilings, shapes: Sequence[Sequence[int]] | None = None) -> tuple[int, int]:
    """Return the arithmetic and the points of all ops together that something lasting depends on."""
    works = [work_of(tilings, o, shapes) for o in tilings.ops if o.is_live]
    return sum(w[0] for w in works), sum(w[1] for w in works)


def ops_by_id(trace: Trace, step: int, tilings: Tilings) -> dict[str, StructuredOp]:
    """Return which structured op of the payload after a step is which op of the trace.

    A snapshot does not carry ids. Ops are told apart by name and by the loops around them; where that leaves
    several, they are taken in the order in which they were made.
    """
    history = PayloadHistory(trace)
    now = _next_step(trace, step)
    recorded: dict[tuple[str, tuple[str, ...]], list[PayloadOp]] = defaultdict(list)
    for op in history.alive_before(now):
        if op.name.startswith("linalg."):
            recorded[op.name, _path(trace, op)].append(op)
    written: dict[tuple[str, tuple[str, ...]], list[StructuredOp]] = defaultdict(list)
    for each in tilings.ops:
        written[each.name, each.path].append(each)
    found: dict[str, StructuredOp] = {}
    for key, several in written.items():
        same = sorted(recorded.get(key, ()), key=lambda o: int(o.id[1:]))
        if len(same) == len(several):
            found |= {o.id: s for o, s in zip(same, several, strict=True)}
    return found


def _next_step(trace: Trace, step: int) -> int:
    """Return the step that ended after another one; the number of steps where that was the last."""
    if step < 0:
        return trace.step_records[0].index if trace.step_records else 0
    ended = [s.index for s in trace.steps_by_end()]
    at = ended.index(step) + 1
    return ended[at] if at < len(ended) else len(ended)


def _path(trace: Trace, op: PayloadOp) -> tuple[str, ...]:
    names: list[str] = []
    at = op.parent
    while at is not None:
        around = trace.op(at)
        if around.name in _LOOPS:
            names.append(around.name)
        at = around.parent
    return tuple(reversed(names))


def handles_to(trace: Trace, step: int, op_id: str) -> tuple[str, ...]:
    """Return the ids of the handles that are live after a step and hold an op."""
    states = trace.states_after(step)
    return tuple(h for h, c in states.items() if c.state == "live" and op_id in c.payload)


def last_step_of_handle(trace: Trace, handle_id: str) -> tuple[int, str] | None:
    """Return the last step after which a handle held a structured op, and the op's id; None if it never did."""
    found: tuple[int, str] | None = None
    held: str | None = None
    for step in trace.steps_by_end():
        for change in step.changes:
            if change.handle == handle_id:
                ops = [
                    r for r in change.payload if isinstance(r, str) and trace.op(r).name.startswith("linalg.")
                ]
                held = ops[0] if change.state == "live" and ops else None
        if held is not None:
            found = step.index, held
    return found


def last_step_of_op(trace: Trace, op_id: str) -> int:
    """Return the last step after which a payload op was there; -1 for the payload as given."""
    died = trace.op(op_id).died
    ended = [s.index for s in trace.steps_by_end() if s.status != "not-run"]
    if died is not None:
        ended = ended[: ended.index(died)]
    return ended[-1] if ended else -1


def steps_to_look_at(trace: Trace) -> list[int]:
    """Return the steps after which to look for structured ops, the last one first.

    Where the trace says which step erased which op: the last, and each before one that erased a structured op.
    """
    steps = [s.step for s in trace.snapshots]
    erased = {o.died for o in trace.op_records if o.name.startswith("linalg.")}
    if len(trace.op_records):
        steps = [
            s for s, following in zip(steps, [*steps[1:], None], strict=True) if following in erased | {None}
        ]
    return steps[::-1]
