"""Runs, measurements and sweeps of a session: one at a time, in the background, cancellable; their results."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lhkit.bench.side_by_side import measure
from lhkit.bench.speed_charts import draw_roofline, speed_bars
from lhkit.compose.session import Session
from lhkit.draw.figures import figure_svg
from lhkit.draw.tables import format_ns
from lhkit.kernels.kernel import compile_kernel
from lhkit.kernels.verification import verify
from lhkit.model.errors import Failure, LhkitError, UsageError, error_for, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import Comparison, Verification
from lhkit.model.payload import Payload
from lhkit.model.printable import counted
from lhkit.model.sample_statistics import rank_entries
from lhkit.model.schedule import Schedule
from lhkit.proposals.proposal import propose
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.live_sweep import sweep
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.variant_record import SweepRecord
from lhkit.workbench.jobs import Jobs
from lhkit.workbench.screen import Notice
from lhkit.worker.client import own_worker

if TYPE_CHECKING:
    from lhkit.worker.client import Worker

RunKind = Literal["run", "measure", "sweep", "propose", "profile"]
RunStatus = Literal["ok", "wrong", "failed", "stopped"]
Knobs = tuple[tuple[str, KnobValue], ...]


@dataclass(frozen=True, slots=True)
class ResultBar:
    """A speed relative to the anchor, with its 95 % interval; ``label`` is empty for the schedule itself."""

    label: str
    value: float
    low: float
    high: float
    text: str
    is_anchor: bool = False
    knobs: Knobs | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one run, measurement or sweep.

    Attributes:
        status: ``ok``; ``wrong``: the numbers differ from the reference; ``failed``; ``stopped``.
        said: The outcome in a sentence.
        anchor: What speeds are multiples of; empty if nothing was timed.
    """

    number: int
    kind: RunKind
    status: RunStatus
    schedule: Schedule
    knobs: Knobs
    title: str
    said: str
    anchor: str = ""
    bars: tuple[ResultBar, ...] = ()

    @property
    def own_bar(self) -> ResultBar | None:
        """The speed of the schedule itself, if it was measured."""
        return next((bar for bar in self.bars if not bar.label), None)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress of the current run; ``kind`` is empty if there is none, ``total`` None if unknown."""

    kind: RunKind | Literal[""] = ""
    said: str = ""
    done: int = 0
    total: int | None = None


def knob_values(schedule: Schedule) -> dict[str, KnobValue]:
    """Return the value of every knob that has one."""
    try:
        return schedule.values
    except UsageError:  # a knob without a default is not set; it has to be on screen to be set
        given = {k.name: k.default for k in schedule.knobs if k.default is not None}
        return {**given, **dict(schedule.settings)}


def knob_words(knobs: Knobs) -> str:
    """Return knob values as one line."""
    return ", ".join(f"{name} = {value}" for name, value in knobs)


def text_letters(results: Iterable[Result]) -> dict[str, str]:
    """Return a letter for each distinct schedule text of the results; empty if there is only one text."""
    texts = dict.fromkeys(result.schedule.text for result in results)
    if len(texts) < 2:
        return {}
    return {text: _letters(number) for number, text in enumerate(texts)}


def _letters(number: int) -> str:
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


UNSCHEDULED = "unscheduled"
PROPOSAL = "proposal"
_ROUNDS, _SECONDS = 12, 3.0
_MOST_VARIANTS = 8
# A process that is just starting cannot be ended yet, so the request is repeated until the run is over.
_CANCEL_S = 0.05
# Each progress report is a message to the browser.
_TELL_S = 0.15


@dataclass(frozen=True, slots=True)
class Subject:
    """The version of a schedule that is run, measured or swept; ``title`` is the edit that led to it."""

    payload: Payload
    schedule: Schedule
    knobs: Knobs
    title: str
    number: int

    def result(
        self, kind: RunKind, status: RunStatus, said: str, anchor: str = "", bars: tuple[ResultBar, ...] = ()
    ) -> Result:
        """Return a result of this version; the fields are those of `Result`."""
        return Result(self.number, kind, status, self.schedule, self.knobs, self.title, said, anchor, bars)


def run_once(subject: Subject, worker: Worker, watch: Watcher) -> Result:
    """Compile a version and verify its numbers against the reference."""
    watch.end = worker.cancel
    watch.tell(RunProgress("run", "compiling"))
    kernel = compile_kernel(subject.payload, subject.schedule, worker=worker)
    watch.tell(RunProgress("run", "running it beside its reference"))
    verdict = verify(kernel)
    said = f"{_verdict_words(verdict)}; compiled in {format_ns(kernel.compile_ns)}"
    return subject.result("run", "ok" if verdict.ok else "wrong", said)


def measure_it(subject: Subject, worker: Worker, watch: Watcher) -> Result:
    """Time a version beside the unscheduled payload and, where the payload has a NumPy reference, NumPy."""
    watch.end = worker.cancel
    name, kernels = subject.schedule.source, {}
    for entry, schedule in ((UNSCHEDULED, None), (name, subject.schedule)):
        watch.tell(RunProgress("measure", "compiling"))
        kernels[entry] = compile_kernel(subject.payload, schedule, worker=worker)
    watch.tell(RunProgress("measure", "warming up"))

    def tell(done: int, total: int) -> None:
        watch.tell(RunProgress("measure", "sampling in rounds", done, total))

    comparison = measure(kernels, rounds=_ROUNDS, seconds=_SECONDS, progress=tell)
    with contextlib.suppress(LhkitError):  # operations or limits that are not known have no roofline
        watch.picture = figure_svg(draw_roofline(comparison))
    return measured(comparison, name, subject)


def measured(comparison: Comparison, name: str, subject: Subject) -> Result:
    """Return a comparison as a result; ``name`` is the entry of the schedule itself."""
    bars = tuple(
        ResultBar("" if bar.label == name else bar.label, bar.value, bar.low, bar.high, bar.text, bar.is_anchor)
        for bar in speed_bars(comparison)
    )
    own = next(bar for bar in bars if not bar.label)
    verdict = comparison.measurement(name).verification
    status: RunStatus = "ok" if verdict is None or verdict.ok else "wrong"
    places = {rank.name: rank.place for rank in rank_entries(comparison)}
    equal = [e for e in dict.fromkeys((comparison.anchor, UNSCHEDULED)) if places.get(e) == places[name]]
    said = f"{own.value:.3g} times as fast as {comparison.anchor}"
    if comparison.anchor in equal:
        said = f"{own.low:.3g} to {own.high:.3g} times as fast as {comparison.anchor}"
    if equal:
        said += f": no difference seen from {' and '.join(equal)}"
    if verdict is not None:
        said += f"; {_verdict_words(verdict)}"
    return subject.result("measure", status, said, comparison.anchor, bars)


def sweep_it(subject: Subject, _: Worker, watch: Watcher) -> Result:
    """Sweep all knobs of a version in a separate process; variants in the store are not timed again."""
    # A knob that was set is swept like the others.
    schedule = dataclasses.replace(subject.schedule, settings=())
    watch.tell(RunProgress("sweep", "getting ready"))
    found = sweep(subject.payload, schedule, start=False, confirm=False)
    watch.end = found.stop

    def follow(event: SweepEvent) -> None:
        best = _record_words(event.best)
        said = f"ahead: {best}" if best else "nothing was timed yet"
        if event.end is None:
            try:
                watch.tell(RunProgress("sweep", said, event.done, event.total))
            except LhkitError:
                found.stop()

    found.subscribe(follow)
    # Short timings, one after the other: what is ahead is measured with the button beside this one.
    found.start()
    return swept(found.result(), subject)


def swept(result: SweepResult, subject: Subject) -> Result:
    """Return a sweep as a result with its best variants as bars."""
    timed = sorted((r for r in result.records if r.status == "ok" and r.time_ns), key=_median)
    anchor = next((r for r in timed if r.values == dict(subject.knobs)), timed[-1] if timed else None)
    shown = timed[:_MOST_VARIANTS]
    if anchor is not None and anchor not in shown:
        shown[-1] = anchor
    bars = tuple(_variant_bar(r, anchor) for r in shown if anchor is not None)
    count = counted(len(result.records), "variant")
    failed = sum(map(len, result.failures.values()))
    end = "" if result.end == "finished" else f", {result.end}"
    said = f"{count}{f' ({failed} failed)' if failed else ''}{end}"
    if result.best is not None:
        said += f"; ahead: {_record_words(result.best)}"
    status: RunStatus = "ok" if result.end == "finished" else "stopped"
    label = knob_words(anchor.knobs) if anchor is not None else ""
    return subject.result("sweep", status, said, label, bars)


def _variant_bar(record: SweepRecord, anchor: SweepRecord) -> ResultBar:
    speed = _median(anchor) / _median(record)
    text = f"{speed:.3g}×  ({format_ns(_median(record))})"
    # One median has no interval: the engine times most variants only as long as they may still win.
    return ResultBar(knob_words(record.knobs), speed, speed, speed, text, record is anchor, tuple(record.knobs))


def _median(record: SweepRecord) -> int:
    return record.time_ns.median if record.time_ns is not None else 0


def _record_words(record: SweepRecord | None) -> str:
    if record is None or record.time_ns is None:
        return ""
    return f"{knob_words(record.knobs)} in {format_ns(record.time_ns.median)}"


def _verdict_words(verdict: Verification) -> str:
    if verdict.ok:
        return f"right: as {verdict.against} says, to {verdict.max_abs_error:.2g}"
    return f"WRONG against {verdict.against}: {verdict.difference or f'off by {verdict.max_abs_error:.2g}'}"


def propose_it(subject: Subject, worker: Worker, watch: Watcher) -> Result:
    """Return a proposal for the payload as a result, whose schedule is the proposed one."""
    watch.end = worker.cancel
    watch.tell(RunProgress("propose", "applying cpu.mlir, and writing out what it does"))
    proposal = propose(subject.payload, worker=worker)
    knobs = tuple(knob_values(proposal.schedule).items())
    made = dataclasses.replace(subject, schedule=proposal.schedule, knobs=knobs, title=PROPOSAL)
    return made.result("propose", "ok", "; ".join(proposal.lines))


Work = Callable[["Subject", "Worker", "Watcher"], Result]
_WORKS: Mapping[RunKind, Work] = {
    "run": run_once,
    "measure": measure_it,
    "sweep": sweep_it,
    "propose": propose_it,
}


class Watcher:
    """Progress and cancellation of one run, from any thread.

    Attributes:
        end: Ends the current phase; repeated until the run is ``over`` once cancellation was requested.
        picture: A drawing that goes with the result, as SVG.
    """

    def __init__(self, report: Callable[[RunProgress], None]) -> None:
        self._report = report
        self._reported_at = -1.0
        self._said = ""
        self.end: Callable[[], None] = lambda: None
        self.picture = ""
        self.over = threading.Event()
        self._asked = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether cancellation was requested."""
        return self._asked.is_set()

    def tell(self, progress: RunProgress) -> None:
        """Report progress, a few times a second; raise ``cancelled`` once cancellation was requested."""
        if self.is_stopped:
            raise error_for(Failure("cancelled", "it was stopped"))
        now = time.monotonic()
        if now - self._reported_at >= _TELL_S or progress.said != self._said:
            self._reported_at, self._said = now, progress.said
            self._report(progress)

    def stop(self) -> None:
        """Request cancellation; returns at once."""
        if not self.is_stopped:
            self._asked.set()
            threading.Thread(target=self._cancel, name="lhkit-stop", daemon=True).start()

    def _cancel(self) -> None:
        while not self.over.is_set():
            self.end()
            self.over.wait(_CANCEL_S)


class Runs:
    """The results of a session, and the run in progress."""

    def __init__(
        self,
        session: Session,
        jobs: Jobs,
        refresh: Callable[[], None],
        notify: Callable[[Notice], None],
        adopt: Callable[[Result], None],
        results: tuple[Result, ...] = (),
    ) -> None:
        self.results = results
        self.pictures: dict[int, str] = {}  # rooflines by the numbers of results; they are not saved
        self.progress = RunProgress()
        self._session, self._jobs, self._refresh, self._notify = session, jobs, refresh, notify
        self._adopt = adopt
        self._watcher: Watcher | None = None
        self._worker: Worker | None = None

    def start(self, kind: RunKind, work_of_kind: Work | None = None) -> None:
        """Start to run, measure or sweep the current version, or to do other work on it in the same way."""
        if self._watcher is not None:
            raise usage_error(f"a {self.progress.kind} is not over yet", "Stop it first.")
        version = self._session.version
        if version.failure is not None:
            raise usage_error("the text does not parse", "Fix it first, or undo.")
        if kind == "sweep" and not any(len(k.options) != 1 for k in version.schedule.knobs):
            raise usage_error("the schedule has no knobs to sweep", "Make one of a number of a step.")
        knobs = tuple(knob_values(version.schedule).items())
        number = self.results[-1].number + 1 if self.results else 1
        subject = Subject(self._session.payload, version.schedule, knobs, version.title, number)

        def report(progress: RunProgress) -> None:
            def take() -> None:
                if watcher is self._watcher:
                    self.progress = progress
                    self._refresh()

            self._jobs.post(take)

        done_by = work_of_kind or _WORKS[kind]
        watcher = self._watcher = Watcher(report)
        self.progress = RunProgress(kind, "getting ready")
        # A separate process: cancelling the run must not end a trace.
        worker = self._worker = self._worker or own_worker()

        def work(_: Callable[[], bool]) -> None:
            result = None
            try:
                result = done_by(subject, worker, watcher)
            except LhkitError as error:
                if not watcher.is_stopped:
                    failure = error.failure
                    parts = (failure.message.partition("\n")[0], failure.advice)
                    result = subject.result(kind, "failed", " ".join(filter(None, parts)))
            finally:
                watcher.over.set()
                if watcher.is_stopped:
                    worker.close()
                self._jobs.post(lambda: self._take(watcher, result))

        self._jobs.start("run", work)

    def stop(self) -> bool:
        """Cancel the current run from any thread, without waiting; return whether there was one."""
        if (watcher := self._watcher) is None:
            return False
        watcher.stop()
        # The next run gets a new process, so that it need not wait until this one has ended. A sweep has
        # another process, and its results so far are kept.
        self._worker = None
        if self.progress.kind != "sweep":
            self._jobs.post(lambda: self._take(watcher, None))
        return True

    def close(self) -> None:
        """Cancel the current run and end its process."""
        self.stop()
        self.rest()

    def rest(self) -> None:
        """End the process if nothing is running."""
        if self._watcher is None and self._worker is not None:
            self._worker.close()
            self._worker = None

    def result(self, number: int) -> Result:
        """Return a result by its number; a usage error if there is none."""
        found = next((r for r in self.results if r.number == number), None)
        if found is None:
            raise usage_error(f"there is no result {number}")
        return found

    def _take(self, watcher: Watcher, result: Result | None) -> None:
        if watcher is not self._watcher:
            return
        kind = self.progress.kind
        self._watcher, self.progress = None, RunProgress()
        if result is not None:
            self.results = (*self.results, result)
            if watcher.picture:
                self.pictures[result.number] = watcher.picture
            if result.kind == "propose" and result.status == "ok":
                self._adopt(result)
        elif watcher.is_stopped:
            self._notify(Notice("done", f"the {kind} was stopped"))
        self._refresh()
