"""What a step did to the payload, with the steps inside of it."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.trace_record import PayloadDelta, Trace


@dataclass(frozen=True, slots=True)
class StepWork:
    """What was done from one snapshot to another.

    Attributes:
        delta: What a step and the steps inside of it did to the payload, all in all.
        before: The step whose snapshot shows the payload before, None where none does.
    """

    delta: PayloadDelta
    before: int | None


def work_of_step(trace: Trace, step: int) -> StepWork:
    """Return what a step did, the steps inside of it included; nothing for the payload as given (-1)."""
    if step < 0:
        return StepWork(PayloadDelta(), None)
    inside = {step}
    for each in trace.step_records:
        if each.parent in inside:
            inside.add(each.index)
    deltas = [trace.step_records[i].payload_delta for i in sorted(inside)]
    created = dict.fromkeys(o for d in deltas for o in d.created)
    erased = dict.fromkeys(o for d in deltas for o in d.erased)
    made = tuple(o for o in created if o not in erased)
    lost = tuple(o for o in erased if o not in created)
    touched = {*created, *erased}
    changed = tuple(o for o in dict.fromkeys(o for d in deltas for o in d.changed) if o not in touched)
    moved = tuple(o for o in dict.fromkeys(o for d in deltas for o in d.moved) if o not in touched)
    before = None
    for snapshot in trace.snapshots:
        if snapshot.step in inside:
            break
        before = snapshot.step
    return StepWork(PayloadDelta(made, lost, changed, moved), before)
