"""Tracing: a schedule applied step by step, as a value that says what every handle was."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lhkit.model.errors import WorkerError
from lhkit.model.failure import Failure
from lhkit.model.jsonable import from_json
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace import Outcome, OutcomeStatus, ScheduleRecord, SourceRecord, Toolchain, Trace
from lhkit.session.environment import cpu_name
from lhkit.session.journals import read_journal
from lhkit.session.loading import describe_schedule, describe_sources
from lhkit.session.opt_host import opt_host
from lhkit.session.opt_tracing import trace_with_opt
from lhkit.session.workers import shared_worker
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

_STATUS: Mapping[str, OutcomeStatus] = {
    "crash": "crashed",
    "timeout": "timeout",
    "memory": "out-of-memory",
    "cancelled": "cancelled",
}


def trace_schedule(
    payload: Payload,
    schedule: Schedule,
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> Trace:
    """Apply a schedule to a payload and record what every handle is after every step.

    A schedule that fails, a compiler that crashes and a limit that is broken give a trace up to there:
    ``outcome`` says why and in which step.

    Args:
        payload: What to apply it to; it is not changed.
        schedule: What to apply.
        knobs: Values for knobs of the schedule, over those it has.
        worker: Another worker than the session's.
        limits: Time and memory for the run.

    Returns:
        The trace, an immutable value.

    Raises:
        UsageError: No such knob, or arguments of the entry that nothing is bound to.

    Where the environment names a compiler binary in ``LHKIT_OPT``, and no worker is given, that applies the
    schedule: see `lhkit.session.opt_tracing` for what such a trace leaves out.
    """
    if knobs:
        schedule = schedule.with_knobs(knobs)
    if worker is None and (host := opt_host()) is not None:
        return trace_with_opt(host, payload, schedule, limits=limits)
    described, body = describe_sources([(payload.source, payload.content)], role="payload")
    more, more_body, parts = describe_schedule(schedule)
    with tempfile.TemporaryDirectory(prefix="lhkit-trace-") as folder:
        journal = Path(folder) / "journal"
        fields = {"sources": described + more, "schedule": parts, "journal": str(journal)}
        header: dict[str, Any] = {}
        death: Failure | None = None
        try:
            header = (
                (worker or shared_worker())
                .request("trace", fields, body + more_body, limits=limits, last_good_ir=payload.text)
                .header
            )
        except WorkerError as error:
            if not journal.exists():
                raise
            death = error.failure
        records = read_journal(journal, died=death is not None)
    failure = death or (from_json(Failure, header["failed"]) if header.get("failed") else None)
    failed_step = records.died_in if death else header.get("failed_step")
    return Trace(
        payload=SourceRecord(payload.source, payload.sha256),
        schedule=ScheduleRecord(
            schedule.source, schedule.sha256, schedule.entry, tuple(schedule.values.items())
        ),
        toolchain=Toolchain(records.toolchain[0], records.toolchain[1], cpu_name()),
        outcome=_outcome(failure, failed_step),
        handle_records=records.handles,
        step_records=records.steps,
        elided=records.elided,
        op_records=records.ops,
        snapshots=records.snapshots,
    )


def _outcome(failure: Failure | None, failed_step: int | None) -> Outcome:
    if failure is None:
        return Outcome()
    status = _STATUS.get(failure.kind, "failed")
    shown = dataclasses.replace(failure, last_good_ir=None)
    return Outcome(status, failed_step, failure.kind, shown.describe())
