"""Why a schedule does not apply, as its trace tells it: for kernels the same words and places as for traces."""

from __future__ import annotations

import dataclasses

from lhkit.model.errors import LhkitError, error_for
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.traces.record.trace_failure import failure_of
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_STAGE = "apply"


def traced_error(
    error: LhkitError, payload: Payload, schedule: Schedule, worker: Worker, limits: Limits | None
) -> LhkitError:
    """Return the error of a schedule that did not apply with the reason that a trace of it finds.

    An error of another stage, and one that the trace does not repeat, is returned as it is. So is one of time
    or memory: the trace would take as much again.

    Args:
        error: What the worker answered, or how it died.
        payload: What the schedule was applied to.
        schedule: The schedule.
        worker: The worker to trace in.
        limits: Time and memory for the trace.
    """
    failure = error.failure
    if failure.stage != _STAGE or failure.kind in ("timeout", "memory", "cancelled"):
        return error
    try:
        found = failure_of(trace_schedule(payload, schedule, worker=worker, limits=limits))
    except LhkitError:
        return error
    if found is None:
        return error
    more = {"request": failure.request, "stage": _STAGE, "last_good_ir": failure.last_good_ir}
    if found.kind == "crash":
        more |= {"reproducer": failure.reproducer, "output": failure.output}
    return error_for(dataclasses.replace(found, **more))  # type: ignore[arg-type]
