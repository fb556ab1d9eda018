"""What was looked at in one trace, found again in the next: ids mean nothing elsewhere, names and places do."""

from __future__ import annotations

import dataclasses

from lhkit.model.trace_record import PayloadDelta, Trace
from lhkit.show.trace_view import start_step
from lhkit.traces.record.handle_history import display_names
from lhkit.workbench.screen import Screen


def first_step(trace: Trace) -> int:
    """Return the step to show first: the one that failed, else the first that changed the payload."""
    if trace.outcome.failed_step is not None:
        return trace.outcome.failed_step
    known = {s.step for s in trace.snapshots}
    changing = (s.index for s in trace.step_records if s.payload_delta != PayloadDelta() and s.index in known)
    return next(changing, start_step(trace))


def fitting(screen: Screen, trace: Trace | None) -> Screen:
    """Return what is looked at as far as it is there: a file or a page may name what a trace does not have."""
    last = len(trace.step_records) - 1 if trace is not None else -1
    known: set[str] = set()
    if screen.kind == "step":
        known = {str(index) for index in range(-1, last + 1)}
    elif trace is not None and screen.kind == "handle":
        known = {handle.id for handle in trace.handle_records}
    elif trace is not None and screen.kind == "op":
        known = {op.id for op in trace.op_records}
    ids = " ".join(each for each in screen.ids.split() if each in known)
    step = min(max(screen.step, -1), last)
    return dataclasses.replace(screen, step=step, kind=screen.kind if ids else "", ids=ids)


def carried(screen: Screen, old: Trace, new: Trace) -> Screen:
    """Return what is looked at in a new trace: the same step and the same thing, if they are there."""
    step = carried_step(old, new, screen.step)
    found = (_carried_id(screen.kind, each, old, new) for each in screen.ids.split())
    ids = [each for each in found if each is not None]
    kind = screen.kind if ids else ""
    return dataclasses.replace(screen, step=step, kind=kind, ids=" ".join(ids), by="")


def carried_step(old: Trace, new: Trace, index: int) -> int:
    """Return the step of a new trace that does what a step of an old one did, or the nearest to its place."""
    if not 0 <= index < len(old.step_records):
        return -1
    wanted = _what(old, index)
    alike = [s.index for s in new.step_records if _what(new, s.index) == wanted]
    if alike:
        return min(alike, key=lambda found: abs(found - index))
    return min(index, len(new.step_records) - 1)


def _what(trace: Trace, index: int) -> tuple[object, ...]:
    step = trace.step_records[index]
    given = tuple(trace.handle(h).name for h in step.results)
    taken = tuple(trace.handle(o.handle).name for o in step.operands)
    return (step.op, given, taken, step.iteration)


def _carried_id(kind: str, id_: str, old: Trace, new: Trace) -> str | None:
    if kind == "step":
        return str(carried_step(old, new, int(id_)))
    if kind == "handle":
        names = display_names(old)
        name = names.get(id_)
        return next((h for h, n in display_names(new).items() if n == name), None)
    was = next((o for o in old.op_records if o.id == id_), None)
    found = any(o.id == id_ and was is not None and o.name == was.name for o in new.op_records)
    return id_ if found else None
