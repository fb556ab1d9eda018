"""Knobs whose options all give the same payload: the schedule is applied with each of them."""

from __future__ import annotations

import dataclasses

from lhkit.model.errors import LhkitError, WorkerError
from lhkit.model.knob import Knob
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace import Trace, TraceWarning
from lhkit.session.loading import describe_schedule, describe_sources
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits


def knobs_without_effect(
    payload: Payload, schedule: Schedule, *, worker: Worker | None = None, limits: Limits | None = None
) -> tuple[Knob, ...]:
    """Return the knobs whose options all give the same payload, the other knobs as they are set.

    An option with which the schedule fails counts as different. Two applications a knob usually decide; a
    knob without effect takes one for each option.

    Raises:
        WorkerError: The compiler crashed, or took too much time or memory.
    """
    worker = worker or shared_worker()
    found = []
    for knob in schedule.knobs:
        outcomes: set[str | None] = set()
        for option in knob.options:
            outcomes.add(_applied(payload, schedule.with_knobs({knob.name: option}), worker, limits))
            if len(outcomes) > 1 or None in outcomes:
                break
        else:
            if len(knob.options) > 1:
                found.append(knob)
    return tuple(found)


def _applied(payload: Payload, schedule: Schedule, worker: Worker, limits: Limits | None) -> str | None:
    """Return the scheduled payload as text, None if the schedule fails."""
    described, body = describe_sources([(payload.source, payload.content)], role="payload")
    more, more_body, parts = describe_schedule(schedule)
    function = next(f.name for f in payload.functions if not f.is_declaration)
    fields = {
        "sources": described + more,
        "schedule": parts,
        "function": function,
        "opt_level": 0,
        "stage": "scheduled",
    }
    try:
        return worker.request("lower", fields, body + more_body, limits=limits).body.decode()
    except WorkerError:
        raise
    except LhkitError:
        return None


def with_knob_warnings(
    trace: Trace,
    payload: Payload,
    schedule: Schedule,
    *,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> Trace:
    """Return a trace with a warning at the step of each knob without effect.

    Raises:
        WorkerError: The compiler crashed, or took too much time or memory.
    """
    steps = list(trace.step_records)
    for knob in knobs_without_effect(payload, schedule, worker=worker, limits=limits):
        listed = ", ".join(map(str, knob.options))
        message = f"knob {knob.name!r} has no effect: each of its options {listed} gives the same payload"
        for i, step in enumerate(steps):
            if step.op.startswith("transform.tune.") and step.source and step.source.line == knob.line:
                warnings = (*step.warnings, TraceWarning("knob-without-effect", message))
                steps[i] = dataclasses.replace(step, warnings=warnings)
                break
    return dataclasses.replace(trace, step_records=tuple(steps))
