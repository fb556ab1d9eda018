"""The warning about an outer loop that is unrolled while the inner one of the same step is left."""

from __future__ import annotations

from collections.abc import Iterator

from lhkit.model.trace_record import TraceStep
from lhkit.traces.record.handle_history import PayloadHistory, display_names

UNROLL = "transform.loop.unroll"


def inner_loops(history: PayloadHistory, step: TraceStep) -> list[str]:
    """Return the handles of loops inside of the one that a step is given, made by the same step."""
    trace = history.trace
    if not step.operands or (made := trace.handle(step.operands[0].handle).defined_by) < 0:
        return []
    given = set(history.ops_given(step, 0))
    payloads = {c.handle: c.payload for c in trace.step_records[made].changes}
    later = [h for h in trace.step_records[made].results if h != step.operands[0].handle]
    found = []
    for handle in later:
        loops = [trace.op(r) for r in payloads.get(handle, ()) if isinstance(r, str)]
        if loops and all(
            o.name == "scf.for" and o.id not in given and history.lies_in(o, given) for o in loops
        ):
            found.append(handle)
    return found


def find_outer_unrolled(history: PayloadHistory) -> Iterator[tuple[int, str]]:
    """Yield the steps that unroll a loop while nothing reads the handle of the loop inside of it."""
    trace = history.trace
    names = display_names(trace)
    read = {o.handle for s in trace.step_records for o in s.operands}
    for step in trace.step_records:
        if step.op != UNROLL or step.status != "ok":
            continue
        left = [h for h in inner_loops(history, step) if h not in read]
        if left:
            yield (
                step.index,
                f"unrolls an outer loop: each copy has the loop inside of it whole, {names[left[-1]]},"
                " which no step is given",
            )
