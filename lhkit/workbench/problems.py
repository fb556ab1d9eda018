"""The repairs of what is wrong: looked for beside the commands, tried one by one, shown as they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from lhkit.compose.trial_steps import trying_worker
from lhkit.model.errors import LhkitError, ScheduleError, error_for
from lhkit.model.failure import Failure
from lhkit.model.payload import Payload
from lhkit.model.repair import Repair
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.repairs.repair_trials import DEFAULT_LIMIT, find_repairs, find_text_repairs
from lhkit.worker.cancellation import was_stopped

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

# What nobody waits for any longer.
_SECONDS = 20.0
_MENDABLE_WARNINGS = ("zero-match",)

Sick = tuple[Schedule, str, Failure | None, Trace | None]


class Problems:
    """The repairs of a session's problem.

    Attributes:
        found: The repairs, the best first.
        is_looking: Whether they are still looked for.
        said: Why there are none, where looking itself failed.
    """

    def __init__(self) -> None:
        self.found: tuple[Repair, ...] = ()
        self.is_looking = False
        self.said = ""
        self._sick: Sick | None = None

    def follow(self, workbench: Workbench) -> None:
        """Look for repairs where the problem is another one than before; forget those of one that is gone."""
        sick = _sickness(workbench)
        if sick == self._sick:
            return
        self._sick = sick
        self.found, self.said, self.is_looking = (), "", sick is not None
        if sick is None:
            workbench.jobs.stop("repairs")
            return
        payload = workbench.session.payload

        def work(stopped: Callable[[], bool]) -> None:
            said = ""
            found: tuple[Repair, ...] = ()
            try:
                found = _repairs(payload, sick, stopped)
            except LhkitError as error:
                said = error.failure.message
            workbench.jobs.post(lambda: self._take(workbench, sick, found, said))

        workbench.jobs.start("repairs", work)

    def _take(self, workbench: Workbench, sick: Sick, found: tuple[Repair, ...], said: str) -> None:
        if sick == self._sick:
            self.found, self.said, self.is_looking = found, said, False
            workbench.refresh()


def _sickness(workbench: Workbench) -> Sick | None:
    """Return what needs a repair: a text that does not parse, a schedule that fails, a match of nothing."""
    session = workbench.session
    if not session.is_trusted:  # repairs are applied to be tried
        return None
    version, trace = session.version, session.trace
    typed = workbench.typed
    if typed.goes_on and typed.version == workbench.version_id:  # nobody wants a repair of half a word
        return None
    if was_stopped(version.failure):
        return None
    if version.failure is not None:
        return (version.schedule, version.text, version.failure, None)
    if trace is None or session.is_stale:
        return None
    warned = any(w.kind in _MENDABLE_WARNINGS for s in trace.step_records for w in s.warnings)
    return (version.schedule, version.text, None, trace) if trace.outcome.status == "failed" or warned else None


def _repairs(payload: Payload, sick: Sick, stopped: Callable[[], bool]) -> tuple[Repair, ...]:
    schedule, _, failure, trace = sick
    # In a worker of its own: what is tried may take it down, and the screen's goes on.
    worker = trying_worker()
    if failure is None:
        return find_repairs(payload, schedule, trace, seconds=_SECONDS, stop=stopped, worker=worker)
    error = error_for(failure)
    if not isinstance(error, ScheduleError):
        return ()
    return find_text_repairs(
        payload,
        error,
        entry=schedule.entry,
        bind=schedule.bind,
        limit=DEFAULT_LIMIT,
        seconds=_SECONDS,
        worker=worker,
    )


def warnings_of(trace: Trace) -> Iterator[tuple[int, str, str]]:
    """Yield what is suspicious about each step: its index, the kind, the sentence."""
    for step in trace.step_records:
        for warning in step.warnings:
            yield step.index, warning.kind, warning.message
