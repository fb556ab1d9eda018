"""Tracing a schedule step by step, and the cache of traces."""

from __future__ import annotations

import dataclasses
import os
import platform
import tempfile
from collections import OrderedDict
from collections.abc import Collection, Mapping
from pathlib import Path

from lhkit.load.environment import cpu_name
from lhkit.load.loader import (
    application_of,
    as_payload,
    as_schedule,
    payload_source,
)
from lhkit.load.user_code import own_op_texts
from lhkit.model.errors import Failure, WorkerError, public
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import (
    Outcome,
    Provenance,
    ScheduleRecord,
    SourceRecord,
    Toolchain,
    Trace,
)
from lhkit.traces.opt.opt_binary import opt_host
from lhkit.traces.opt.opt_trace import trace_with_opt
from lhkit.traces.record.journal_reader import read_journal
from lhkit.traces.warnings.knob_without_effect import knobs_without_effect, with_knob_warnings
from lhkit.traces.warnings.warning_list import check_kinds, with_warnings, without_warnings
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import TraceAnswer, TraceSchedule


@public
def trace_schedule(
    payload: Payload | str | os.PathLike[str],
    schedule: Schedule | str | os.PathLike[str],
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    no_warnings: Collection[str] = (),
    check_knobs: bool = False,
    worker: Worker | None = None,
    limits: Limits | None = None,
) -> Trace:
    """Apply a schedule to a payload and record what every handle is after every step.

    A failing schedule, a crash of the compiler and an exceeded limit give a trace up to there: ``outcome`` has
    the reason and the step.

    Args:
        payload: The payload, loaded or a path; it is not changed.
        schedule: The schedule, loaded or a path.
        knobs: Values for knobs of the schedule, over those it has.
        no_warnings: Kinds of warnings to leave out, of those in `lhkit.traces.warnings.warning_list`.
        check_knobs: Also find knobs without effect, which applies the schedule again for their options.
        worker: Another worker than the session's.
        limits: Time and memory for each run.

    Returns:
        The trace, an immutable value.

    Raises:
        UsageError: No such knob or kind of warning, or arguments of the entry that nothing is bound to.

    If the environment variable ``LHKIT_OPT`` names a compiler binary, and no worker is given, the binary
    applies the schedule: see `lhkit.traces.opt.opt_trace` for what such a trace lacks.
    """
    switched_off = check_kinds(no_warnings)
    payload, schedule = as_payload(payload, worker), as_schedule(schedule, worker)
    if knobs:
        schedule = schedule.with_knobs(knobs)
    if worker is None and (host := opt_host()) is not None:
        # Without changes of single payload ops, warnings about them would be guesses.
        trace = trace_with_opt(host, payload, schedule, limits=limits)
        versions = _versions((host.name, host.version))
        return dataclasses.replace(trace, provenance=Provenance(payload, schedule, versions))
    trace = with_warnings(_run(payload, schedule, worker, limits))
    if check_knobs and trace.outcome.status == "ok":

        def apply(variant: Schedule) -> str | None:
            run = _run(payload, variant, worker, limits)
            return run.last_snapshot_text() if run.outcome.status == "ok" else None

        trace = with_knob_warnings(trace, knobs_without_effect(schedule, apply))
    return without_warnings(trace, switched_off)


def _run(payload: Payload, schedule: Schedule, worker: Worker | None, limits: Limits | None) -> Trace:
    source, application = payload_source(payload), application_of(schedule)
    worker = worker or shared_worker()
    with tempfile.TemporaryDirectory(prefix="trace-", dir=worker.files.journals) as folder:
        journal = Path(folder) / "journal"
        request = TraceSchedule(source, application, str(journal))
        death: Failure | None = None
        answer = TraceAnswer(failure=None, failed_step=None)
        try:
            answer = worker.ask(request, limits=limits, last_good_ir=payload.text)
        except WorkerError as error:
            if not journal.exists():
                raise
            death = error.failure
        records = read_journal(journal, died=death is not None)
    failure = death or answer.failure
    failed_step = records.died_in if death else answer.failed_step
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
        provenance=Provenance(
            payload,
            schedule,
            _versions(records.toolchain),
            own_op_texts(worker, schedule),
        ),
    )


def _versions(toolchain: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    from lhkit import __version__

    system = f"{platform.system()} {platform.machine()}"
    return (("lhkit", __version__), toolchain, ("python", platform.python_version()), ("system", system))


def _outcome(failure: Failure | None, failed_step: int | None) -> Outcome:
    if failure is None:
        return Outcome()
    status = failure.reaction.outcome
    shown = dataclasses.replace(failure, last_good_ir=None)
    return Outcome(status, failed_step, failure.kind, shown.describe())


_MOST_TRACES = 16


class TraceCache:
    """An LRU cache of the traces of one payload, by schedule: undo and redo cost no run."""

    def __init__(self, payload: Payload, worker: Worker | None, limits: Limits | None) -> None:
        self._payload, self._worker, self._limits = payload, worker, limits
        self._traces: OrderedDict[Schedule, Trace] = OrderedDict()

    def trace(self, schedule: Schedule) -> Trace:
        """Return the trace of a schedule; raises like `trace_schedule`."""
        kept = self._traces.get(schedule)
        if kept is not None:
            self._traces.move_to_end(schedule)
            return kept
        trace = trace_schedule(self._payload, schedule, worker=self._worker, limits=self._limits)
        if trace.outcome.status in ("ok", "failed"):  # a limit or a crash may not come again
            self._traces[schedule] = trace
            while len(self._traces) > _MOST_TRACES:
                self._traces.popitem(last=False)
        return trace
