"""Runs, measurements and sweeps of a session: one at a time, beside the commands, stopped at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lhkit.model.errors import LhkitError, error_for, usage_error
from lhkit.model.failure import Failure
from lhkit.workbench.commands_trust import ask_before_running
from lhkit.workbench.notices import Notice
from lhkit.workbench.pane_steps import knob_values
from lhkit.workbench.run_results import Result, RunKind, RunProgress
from lhkit.workbench.running import Subject, Work, measure_it, run_once, sweep_it
from lhkit.worker.workers import own_worker

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench
    from lhkit.worker.client import Worker

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
