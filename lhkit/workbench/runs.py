"""Runs, measurements and sweeps of a session: one at a time, beside the commands, stopped at once."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lhkit.bench.bar_chart import speed_bars
from lhkit.bench.side_by_side import measure
from lhkit.draw.tables import format_ns
from lhkit.kernels.kernel import compile_kernel
from lhkit.kernels.verification import verify
from lhkit.model.errors import Failure, LhkitError, error_for, usage_error
from lhkit.model.measurement import Comparison, Verification
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.engine import SweepEvent
from lhkit.sweeps.sweep_options import prepare_sweep
from lhkit.sweeps.variant_record import SweepRecord, SweepResult
from lhkit.workbench.commands_trust import ask_before_running
from lhkit.workbench.pane_steps import knob_values
from lhkit.workbench.run_results import Knobs, Result, ResultBar, RunKind, RunProgress, RunStatus, knob_words
from lhkit.workbench.screen import Notice
from lhkit.worker.client import own_worker

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench
    from lhkit.worker.client import Worker


# Running, measuring and sweeping a version of a schedule: the work itself, whatever thread it is done in.


UNSCHEDULED = "unscheduled"
_ROUNDS, _SECONDS = 12, 3.0
_MOST_VARIANTS = 8


class Watch(Protocol):
    """Who follows a run and may end it."""

    def tell(self, progress: RunProgress) -> None:
        """Take note of how far it has come.

        Raises:
            LhkitError: It was stopped.
        """

    def ended_by(self, end: Callable[[], None]) -> None:
        """Take note of what ends that which runs now, from another thread."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What runs.

    Attributes:
        payload: The payload.
        schedule: The version of the schedule.
        knobs: The value of every knob.
        title: What led to that version.
        number: Which run of the session it is.
    """

    payload: Payload
    schedule: Schedule
    knobs: Knobs
    title: str
    number: int


Work = Callable[[Subject, "Worker", Watch], Result]


def run_once(subject: Subject, worker: Worker, watch: Watch) -> Result:
    """Compile a version and hold its numbers against the reference.

    Raises:
        LhkitError: It does not apply, cannot be compiled, or was stopped.
    """
    watch.ended_by(worker.cancel)
    watch.tell(RunProgress("run", "compiling"))
    kernel = compile_kernel(subject.payload, subject.schedule, worker=worker)
    watch.tell(RunProgress("run", "running it beside its reference"))
    verdict = verify(kernel)
    said = f"{_verdict_words(verdict)}; compiled in {format_ns(kernel.compile_ns)}"
    return Result(
        subject.number,
        "run",
        "ok" if verdict.ok else "wrong",
        subject.schedule,
        subject.knobs,
        subject.title,
        said,
    )


def measure_it(subject: Subject, worker: Worker, watch: Watch) -> Result:
    """Time a version beside NumPy, if the payload has such a reference, and the payload without a schedule.

    Raises:
        LhkitError: It does not apply, cannot be compiled, or was stopped.
    """
    watch.ended_by(worker.cancel)
    watch.tell(RunProgress("measure", "compiling"))
    name = subject.schedule.source
    kernels = {UNSCHEDULED: compile_kernel(subject.payload, worker=worker)}
    watch.tell(RunProgress("measure", "compiling"))
    kernels[name] = compile_kernel(subject.payload, subject.schedule, worker=worker)
    watch.tell(RunProgress("measure", "warming up"))

    def tell(done: int, total: int) -> None:
        watch.tell(RunProgress("measure", "sampling in rounds", done, total))

    comparison = measure(kernels, rounds=_ROUNDS, seconds=_SECONDS, progress=tell)
    return measured(comparison, name, subject)


def measured(comparison: Comparison, name: str, subject: Subject) -> Result:
    """Return a comparison as a result of the session.

    Args:
        comparison: What was measured.
        name: Which of its entries is the schedule.
        subject: The version that it was.
    """
    bars = tuple(
        ResultBar("" if bar.label == name else bar.label, bar.value, bar.low, bar.high, bar.text, bar.is_anchor)
        for bar in speed_bars(comparison)
    )
    own = next(bar for bar in bars if not bar.label)
    verdict = comparison.measurement(name).verification
    status: RunStatus = "ok" if verdict is None or verdict.ok else "wrong"
    said = f"{own.value:.3g} times as fast as {comparison.anchor}"
    if verdict is not None:
        said += f"; {_verdict_words(verdict)}"
    return Result(
        subject.number,
        "measure",
        status,
        subject.schedule,
        subject.knobs,
        subject.title,
        said,
        comparison.anchor,
        bars,
    )


def sweep_it(subject: Subject, _: Worker, watch: Watch) -> Result:
    """Try all variants of a version's knobs, until it is stopped; what is in the store is not tried again.

    It has a process of its own, which ends with it.

    Raises:
        LhkitError: It has no knobs, or nothing can be tried.
    """
    # A knob that was moved is swept like the others.
    schedule = dataclasses.replace(subject.schedule, settings=())
    watch.tell(RunProgress("sweep", "getting ready"))
    found = prepare_sweep(subject.payload, schedule, confirm=False)
    watch.ended_by(found.stop)

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
    """Return what a sweep found as a result of the session: its best variants as bars."""
    timed = sorted((r for r in result.records if r.status == "ok" and r.time_ns), key=_median)
    anchor = next((r for r in timed if r.values == dict(subject.knobs)), timed[-1] if timed else None)
    shown = timed[:_MOST_VARIANTS]
    if anchor is not None and anchor not in shown:
        shown = [*shown[:-1], anchor] if len(shown) == _MOST_VARIANTS else [*shown, anchor]
    bars = tuple(_variant_bar(r, anchor) for r in shown if anchor is not None)
    count = f"{len(result.records)} variants"
    failed = sum(map(len, result.failures.values()))
    end = "" if result.end == "finished" else f", {result.end}"
    said = f"{count}{f' ({failed} failed)' if failed else ''}{end}"
    if result.best is not None:
        said += f"; ahead: {_record_words(result.best)}"
    status: RunStatus = "ok" if result.end == "finished" else "stopped"
    label = knob_words(anchor.knobs) if anchor is not None else ""
    return Result(
        subject.number,
        "sweep",
        status,
        subject.schedule,
        subject.knobs,
        subject.title,
        said,
        label,
        bars,
    )


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


_WORKS: Mapping[RunKind, Work] = {"run": run_once, "measure": measure_it, "sweep": sweep_it}
# What begins just now is not there yet to be ended; so it is ended again until it is over.
_PRESS_S = 0.05
# Faster than that nobody reads, and each time is a message.
_TELL_S = 0.15


class Watcher:
    """Follows one run: hears how far it is, and ends it from any thread."""

    def __init__(self, told: Callable[[RunProgress], None]) -> None:
        """Begin.

        Args:
            told: Called with the progress, a few times a second.
        """
        self._told = told
        self._told_at = -1.0
        self._said = ""
        self._end: Callable[[], None] = lambda: None
        self._asked, self._over = threading.Event(), threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to stop."""
        return self._asked.is_set()

    def tell(self, progress: RunProgress) -> None:
        """Pass on how far it has come.

        Raises:
            LhkitError: It was stopped.
        """
        if self.is_stopped:
            raise error_for(Failure("cancelled", "it was stopped"))
        now = time.monotonic()
        if now - self._told_at >= _TELL_S or progress.said != self._said:
            self._told_at, self._said = now, progress.said
            self._told(progress)

    def ended_by(self, end: Callable[[], None]) -> None:
        """Take note of what ends that which runs now."""
        self._end = end

    def stop(self) -> None:
        """Ask it to end; returns at once."""
        if not self._asked.is_set():
            self._asked.set()
            threading.Thread(target=self._press, name="lhkit-stop", daemon=True).start()

    def over(self) -> None:
        """Take note that it is over."""
        self._over.set()

    def _press(self) -> None:
        while not self._over.is_set():
            self._end()
            self._over.wait(_PRESS_S)


class Runs:
    """What ran in a session, and what runs.

    Attributes:
        results: What came of each, the first one first.
        progress: How far that which runs has come.
    """

    results: tuple[Result, ...]
    progress: RunProgress

    def __init__(self, results: tuple[Result, ...] = ()) -> None:
        self.results = results
        self.progress = RunProgress()
        self._watcher: Watcher | None = None
        self._leave: Callable[[], None] = lambda: None
        self._worker: Worker | None = None

    def start(self, workbench: Workbench, kind: RunKind) -> None:
        """Begin to run, measure or sweep the version that stands.

        Raises:
            UsageError: Something runs already, or the text does not parse as it stands.
        """
        if self._watcher is not None:
            raise usage_error(f"a {self.progress.kind} is not over yet", "Stop it first.")
        if not workbench.session.is_trusted:
            workbench.notice = ask_before_running(workbench, kind)
            return
        version = workbench.session.version
        if version.failure is not None:
            raise usage_error("the text does not parse as it stands", "Mend it first, or undo.")
        if kind == "sweep" and not any(len(k.options) != 1 for k in version.schedule.knobs):
            raise usage_error("the schedule has no knobs to sweep", "Make one of a number of a step.")
        knobs = tuple(knob_values(version.schedule).items())
        number = self.results[-1].number + 1 if self.results else 1
        subject = Subject(workbench.session.payload, version.schedule, knobs, version.title, number)
        watcher = self._watcher = Watcher(
            lambda progress: workbench.jobs.post(lambda: self._told(workbench, watcher, progress))
        )
        self.progress = RunProgress(kind, "getting ready")
        worker = self._own_worker()

        def work(_: Callable[[], bool]) -> None:
            result = None
            try:
                result = _result_of(kind, subject, worker, watcher)
            finally:
                watcher.over()
                if watcher.is_stopped:
                    worker.close()
                workbench.jobs.post(lambda: self._take(workbench, watcher, result))

        self._leave = lambda: workbench.jobs.post(lambda: self._take(workbench, watcher, None))
        workbench.jobs.start("run", work)

    def stop(self) -> bool:
        """Ask that which runs to end; returns at once, from any thread, whether anything runs."""
        if (watcher := self._watcher) is None:
            return False
        watcher.stop()
        # A process that is just starting ends when it has started: nobody waits for it, the next run has
        # another. What a sweep has found is waited for; its process is its own.
        self._worker = None
        if self.progress.kind != "sweep":
            self._leave()
        return True

    def close(self) -> None:
        """End what runs, and the process that it ran in."""
        self.stop()
        self.rest()

    def rest(self) -> None:
        """End the process of what ran, unless something runs; the next run has another."""
        if self._watcher is None and self._worker is not None:
            self._worker.close()
            self._worker = None

    def result(self, number: int) -> Result:
        """Return a result by its number.

        Raises:
            UsageError: There is none.
        """
        found = next((r for r in self.results if r.number == number), None)
        if found is None:
            raise usage_error(f"there is no result {number}")
        return found

    def forget(self) -> None:
        """Forget all results."""
        self.results = ()

    def _own_worker(self) -> Worker:
        """Return the process for what runs: what is traced meanwhile goes on when it is ended."""
        if self._worker is None:
            self._worker = own_worker()
        return self._worker

    def _told(self, workbench: Workbench, watcher: Watcher, progress: RunProgress) -> None:
        if watcher is self._watcher:
            self.progress = progress
            workbench.refresh()

    def _take(self, workbench: Workbench, watcher: Watcher, result: Result | None) -> None:
        if watcher is not self._watcher:
            return
        kind = self.progress.kind
        self._watcher, self.progress = None, RunProgress()
        if result is not None:
            self.results = (*self.results, result)
        elif watcher.is_stopped:
            workbench.notice = Notice("done", f"the {kind} was stopped")
        workbench.refresh()


def _result_of(kind: RunKind, subject: Subject, worker: Worker, watcher: Watcher) -> Result | None:
    """Return what came of a run; None where it was stopped before anything did."""
    try:
        return _WORKS[kind](subject, worker, watcher)
    except LhkitError as error:
        if watcher.is_stopped:
            return None
        failure = error.failure
        said = " ".join(filter(None, (failure.message.partition("\n")[0], failure.advice)))
        return Result(subject.number, kind, "failed", subject.schedule, subject.knobs, subject.title, said)
