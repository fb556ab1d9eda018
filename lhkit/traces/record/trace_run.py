"""Tracing a schedule step by step: the worker's journal read, also after a crash, and the cache of traces."""

from __future__ import annotations

import dataclasses
import os
import platform
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, overload

import msgspec

from lhkit.load.loader import application_of, as_payload, as_schedule, payload_source
from lhkit.load.target_choice import cpu_name
from lhkit.load.user_code import own_op_texts
from lhkit.model import trace_record as record
from lhkit.model.errors import Failure, WorkerError, public
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.model.trace_json import handle_from_json, snapshot_from_json, step_from_json
from lhkit.traces.explain.compiler_words import with_named_handles
from lhkit.traces.intent.expectation_check import with_expectations
from lhkit.traces.opt.opt_runs import opt_host
from lhkit.traces.opt.opt_trace import outcome_of, trace_with_opt
from lhkit.traces.warnings.warning_list import (
    check_kinds,
    knobs_without_effect,
    with_knob_warnings,
    with_warnings,
    without_warnings,
)
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import Request, TraceAnswer, TraceSchedule

T = TypeVar("T")
# A journal that is written is read so often.
_FOLLOW_S = 0.03


class LazyTuple(Sequence[T]):
    """An immutable sequence that equals the tuple of its items, which are made at first use."""

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        """Take the function that makes the items; it must be deterministic."""
        self._make: Callable[[], Iterable[T]] | None = make
        self._items: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        # Two threads may both make the items; they are equal, and one of the two stays.
        make = self._make
        if self._items is None and make is not None:
            self._items = tuple(make())
            self._make = None
        return self._items or ()

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[T]:
        # What a sequence has of its own asks for one item after the other.
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._all()[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyTuple):
            return self._all() == other._all()
        return self._all() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)


@dataclass(slots=True)
class _Journal:
    """The records in a worker's journal; ``died_in`` is the step in which the worker died, or None."""

    toolchain: tuple[str, str] = ("unknown", "unknown")
    blocks: list[list[Any]] = field(default_factory=list)
    scopes: dict[int, str] = field(default_factory=dict)
    handles: list[record.HandleRecord] = field(default_factory=list)
    ops: list[list[Any]] = field(default_factory=list)
    died: dict[str, int] = field(default_factory=dict)
    steps: dict[int, record.TraceStep] = field(default_factory=dict)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    # Steps that have begun and not ended, as they were written: most end, and are read then.
    pending: dict[int, Any] = field(default_factory=dict)
    elided: list[record.Elision] = field(default_factory=list)
    snapshots: list[record.Snapshot] = field(default_factory=list)
    died_in: int | None = None

    def take(self, kind: str, *parts: Any) -> None:
        """Take the parts of a line."""
        match kind:
            case "toolchain":
                self.toolchain = (parts[0], parts[1])
            case "blocks":
                self.blocks = parts[0]
            case "scope":
                self.scopes[parts[0]] = parts[1]
            case "handle":
                self.handles.append(handle_from_json(*parts))
            case "ops":
                self.ops.append(list(parts))
            case "begin":
                index = parts[0]["index"]
                self.places[index] = (parts[1], parts[2])
                self.pending[index] = parts[0]
            case "step":
                step = step_from_json(parts[0])
                self.steps[step.index] = step
                del self.pending[step.index]
                self.died.update(dict.fromkeys(step.payload_delta.erased, step.index))
            case "elided":
                self.elided.append(record.Elision(*parts))
            case "snapshot":
                self.snapshots.append(snapshot_from_json(parts[0]))
            case _:
                raise ValueError(f"a journal has no lines of kind {kind!r}")

    def end(self, *, died: bool) -> None:
        """Add the steps that had not ended; if the worker ``died``, it was in the innermost."""
        for index, begun in self.pending.items():
            step = step_from_json(begun)
            self.steps[index] = dataclasses.replace(step, status="crashed") if died else step
            self.died_in = index if died else None
        self._add_not_run_steps()

    def _add_not_run_steps(self) -> None:
        """Add the ops that follow in their block on a step that failed."""
        ended_badly = [s for s in self.steps.values() if s.status in ("failed", "crashed", "suppressed")]
        seen = {(s.parent, s.iteration, s.alternative, *self.places[s.index]) for s in self.steps.values()}
        for step in sorted(ended_badly, key=lambda s: s.index, reverse=True):
            block, at = self.places[step.index]
            for place in range(at + 1, len(self.blocks[block])):
                if (step.parent, step.iteration, step.alternative, block, place) in seen:
                    break  # the block went on in spite of the failure
                name, source = self.blocks[block][place]
                span = Span(**source) if source else None
                index = len(self.steps)
                nesting = (step.depth, step.parent, step.iteration, step.alternative)
                self.steps[index] = record.TraceStep(index, name, span, *nesting, status="not-run")


def _follow(path: Path, ended: threading.Event) -> _Journal:
    """Take the records of a journal while it is written; the last line may be cut where the worker died."""
    journal, rest, is_over = _Journal(), b"", False
    lines: BinaryIO | None = None
    while not is_over:
        is_over = ended.wait(_FOLLOW_S)
        if lines is None and path.exists():
            lines = path.open("rb")
        *whole, rest = (rest + (lines.read() if lines else b"")).split(b"\n")
        for line in whole:
            kind, *parts = msgspec.json.decode(line)
            if kind == "toolchain":  # a run begins; the one before, if there was one, was vague
                journal = _Journal()
            journal.take(kind, *parts)
    if lines is not None:
        lines.close()
    return journal


def _ops(batches: list[list[Any]], died: dict[str, int]) -> Iterator[record.PayloadOp]:
    for born, *columns in batches:
        for op_id, name, parent, origins, source in zip(*columns, strict=True):
            place = None if source is None else Span(*source)
            yield record.PayloadOp(op_id, name, parent, tuple(origins), born, died.get(op_id), place)


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
) -> record.Trace:
    """Apply a schedule to a payload and record what every handle is after every step.

    A failing schedule, a crash of the compiler and an exceeded limit give a trace up to there: ``outcome`` has
    the reason and the step.

    Args:
        payload: The payload, loaded or a path; it is not changed.
        schedule: The schedule, loaded or a path.
        knobs: Values for knobs of the schedule, over those it has.
        no_warnings: Kinds of warnings to leave out; each says its kind, and a wrong one says which there are.
        check_knobs: Also find knobs without effect, which applies the schedule again for their options.
        worker: Another worker than the session's.
        limits: Time and memory for each run.

    Returns:
        The trace, an immutable value.

    Raises:
        UsageError: No such knob or kind of warning, or arguments of the entry that nothing is bound to.

    If the environment variable ``LHKIT_OPT`` names a compiler binary, and no worker is given, the binary
    applies the schedule. Such a trace has no nested steps, no times and no changes of single payload ops.
    """
    switched_off = check_kinds(no_warnings)
    payload, schedule = as_payload(payload, worker), as_schedule(schedule, worker)
    if knobs:
        schedule = schedule.with_knobs(knobs)
    if worker is None and (host := opt_host()) is not None:
        # Without changes of single payload ops, warnings about them would be guesses.
        trace = with_named_handles(trace_with_opt(host, payload, schedule, limits=limits))
        versions = _versions((host.name, host.version))
        return dataclasses.replace(trace, provenance=record.Provenance(payload, schedule, versions))
    trace = with_warnings(with_named_handles(_run(payload, schedule, worker, limits)))
    if check_knobs and trace.outcome.status == "ok":

        def apply(variant: Schedule) -> str | None:
            run = _run(payload, variant, worker, limits)
            return run.last_snapshot_text() if run.outcome.status == "ok" else None

        trace = with_knob_warnings(trace, knobs_without_effect(schedule, apply))
    return with_expectations(without_warnings(trace, switched_off), schedule)


def trace_working_steps(payload: Payload, schedule: Schedule, worker: Worker | None = None) -> record.Trace:
    """Return a trace of the steps that do something to the payload, without warnings; it takes less long."""
    return _run(payload, schedule, worker, None, without_idle=True)


def _run(
    payload: Payload,
    schedule: Schedule,
    worker: Worker | None,
    limits: Limits | None,
    *,
    without_idle: bool = False,
) -> record.Trace:
    worker = worker or shared_worker()
    source, application = payload_source(payload), application_of(schedule)
    applied = record.ScheduleRecord(
        schedule.source, schedule.sha256, schedule.entry, tuple(schedule.values.items())
    )
    recorded = record_run(
        lambda journal: TraceSchedule(source, application, journal, without_idle),
        payload,
        applied,
        worker,
        limits,
    )
    versions, own = recorded.versions, own_op_texts(worker, schedule)
    return dataclasses.replace(recorded.trace, provenance=record.Provenance(payload, schedule, versions, own))


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A trace without provenance, what ended it, and the ops that passes ran on, by step."""

    trace: record.Trace
    failure: Failure | None
    request: Request[TraceAnswer]
    scopes: Mapping[int, str]

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """The versions of what took part."""
        return _versions((self.trace.toolchain.bindings, self.trace.toolchain.version))


def record_run(
    make_request: Callable[[str], Request[TraceAnswer]],
    payload: Payload,
    applied: record.ScheduleRecord,
    worker: Worker,
    limits: Limits | None,
) -> RecordedRun:
    """Send a request that writes a journal, and return what is in it, also after a crash.

    Raises:
        LhkitError: There is nothing to record.
    """
    with worker.files.journal_folder() as folder:
        journal = Path(folder) / "journal"
        request = make_request(str(journal))
        death: Failure | None = None
        answer = TraceAnswer(failure=None, failed_step=None)
        ended = threading.Event()
        with ThreadPoolExecutor(1, "lhkit-journal") as pool:
            following = pool.submit(_follow, journal, ended)
            try:
                answer = worker.ask(request, limits=_gentle(limits, request), last_good_ir=payload.text)
            except WorkerError as error:
                if not journal.exists():
                    raise
                death = error.failure
            finally:
                ended.set()
            records = following.result()
        records.end(died=death is not None)
    failure = death or answer.failure
    failed_step = records.died_in if death else answer.failed_step
    trace = record.Trace(
        payload=record.SourceRecord(payload.source, payload.sha256),
        schedule=applied,
        toolchain=record.Toolchain(records.toolchain[0], records.toolchain[1], cpu_name()),
        outcome=outcome_of(failure, failed_step) if failure else record.Outcome(),
        handle_records=tuple(records.handles),
        step_records=tuple(step for _, step in sorted(records.steps.items())),
        elided=tuple(records.elided),
        op_records=LazyTuple(partial(_ops, records.ops, records.died)),
        snapshots=tuple(records.snapshots),
    )
    return RecordedRun(trace, failure, request, records.scopes)


def _gentle(limits: Limits | None, request: Request[TraceAnswer]) -> Limits | None:
    """Return limits whose cancellation first asks the worker to end the trace: its process need not die."""
    stop, wanted = getattr(request, "stop_file", None), limits.stopped if limits is not None else None
    if limits is None or stop is None or wanted is None:
        return limits
    since: list[float] = []

    def is_stopped() -> bool:
        if not wanted():
            return False
        if not since:
            Path(stop).touch()
            since.append(time.monotonic())
        return time.monotonic() - since[0] > _GRACE_S

    return dataclasses.replace(limits, stopped=is_stopped)


def _versions(toolchain: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    from lhkit import __version__

    system = f"{platform.system()} {platform.machine()}"
    return (("lhkit", __version__), toolchain, ("python", platform.python_version()), ("system", system))


_MOST_TRACES = 16
# A step that takes longer is not waited for when a trace is cancelled.
_GRACE_S = 0.5


class TraceCache:
    """An LRU cache of the traces of one payload, by schedule: undo and redo cost no run."""

    def __init__(self, payload: Payload, worker: Worker | None, limits: Limits | None) -> None:
        self._payload, self._worker, self._limits = payload, worker, limits
        self._traces: OrderedDict[Schedule, record.Trace] = OrderedDict()
        self._lock = threading.Lock()  # traces may be kept from another thread

    def has(self, schedule: Schedule) -> bool:
        """Return whether the trace of a schedule is in the cache."""
        return schedule in self._traces

    def keep(self, schedule: Schedule, trace: record.Trace) -> None:
        """Put a trace into the cache; the one used least recently may be dropped."""
        if trace.outcome.status not in ("ok", "failed"):  # a limit or a crash may not come again
            return
        with self._lock:
            self._traces[schedule] = trace
            while len(self._traces) > _MOST_TRACES:
                self._traces.popitem(last=False)

    def trace(self, schedule: Schedule) -> record.Trace:
        """Return the trace of a schedule; raises like `trace_schedule`."""
        with self._lock:
            kept = self._traces.get(schedule)
            if kept is not None:
                self._traces.move_to_end(schedule)
                return kept
        trace = trace_schedule(self._payload, schedule, worker=self._worker, limits=self._limits)
        self.keep(schedule, trace)
        return trace
