"""A knob whose options all give the same payload."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from lhkit.model.knob import Knob
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace, TraceWarning

KIND = "knob-without-effect"
DESCRIPTION = "Every option of a knob gives the same payload (looked for on request)."


def knobs_without_effect(schedule: Schedule, apply: Callable[[Schedule], str | None]) -> tuple[Knob, ...]:
    """Return the knobs whose options all give the same payload, the other knobs as they are set.

    Two applications a knob usually decide. ``apply`` gives the payload that a schedule makes as text, None if
    it
    fails, which counts as different.
    """
    found = []
    for knob in schedule.knobs:
        outcomes: set[str | None] = set()
        for option in knob.options:
            outcomes.add(apply(schedule.with_knobs({knob.name: option})))
            if len(outcomes) > 1 or None in outcomes:
                break
        else:
            if len(knob.options) > 1:
                found.append(knob)
    return tuple(found)


def with_knob_warnings(trace: Trace, knobs: tuple[Knob, ...]) -> Trace:
    """Return a trace with a warning at the step of each of these knobs without effect."""
    steps = list(trace.step_records)
    for knob in knobs:
        listed = ", ".join(map(str, knob.options))
        message = f"knob {knob.name!r} has no effect: each of its options {listed} gives the same payload"
        for i, step in enumerate(steps):
            if step.op.startswith("transform.tune.") and step.source and step.source.line == knob.line:
                warnings = (*step.warnings, TraceWarning(KIND, message))
                steps[i] = dataclasses.replace(step, warnings=warnings)
                break
    return dataclasses.replace(trace, step_records=tuple(steps))
