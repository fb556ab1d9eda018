"""Traces of the neighbouring values of knobs, taken while nothing else is asked: then a knob moves at once."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lhkit.compose.session import Session
from lhkit.compose.trial_steps import trying_worker
from lhkit.model.errors import LhkitError
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.workbench.jobs import Jobs, Stopped
from lhkit.worker.limits import Limits

JOB = "neighbors"
# Of the cache's places for traces, so that those of values seen before are not pushed out.
MOST_NEIGHBORS = 6
# A hand that moves on is not disturbed, and what is not wanted takes no longer than this.
_REST_S, _MOST_S = 0.15, 30.0
_POLL_S = 0.02


def neighbors(schedule: Schedule, moved: str | None) -> Iterator[Schedule]:
    """Yield a schedule with other values of its knobs, nearest first, beginning with the knob moved last."""
    knobs = [k for k in schedule.knobs if len(k.options) > 1]
    for knob in sorted(knobs, key=lambda k: k.name != moved):
        value = schedule.values.get(knob.name, knob.default)
        if value not in knob.options:
            continue
        at = knob.options.index(value)
        nearest = sorted((i for i in range(len(knob.options)) if i != at), key=lambda i: (abs(i - at), -i))
        for i in nearest if knob.name == moved else nearest[:2]:
            with contextlib.suppress(LhkitError):  # its requirements are not met
                yield schedule.with_knobs({knob.name: knob.options[i]})


@dataclass
class NeighborTraces:
    """Takes the traces in the background; ``prepare`` gets each, in the thread of the job."""

    session: Session
    jobs: Jobs
    prepare: Callable[[Trace, Stopped], None]
    moved: str | None = None
    # A job that was cancelled may still trace a schedule when the next one begins with it.
    _running: dict[threading.Event, Schedule] = field(default_factory=dict)

    def pause(self, wanted: Schedule | None = None) -> None:
        """Cancel the traces; the one of a schedule that is wanted now is waited for instead."""
        running = tuple(self._running.items()) if wanted is not None else ()
        done = next((event for event, schedule in reversed(running) if schedule == wanted), None)
        while done is not None and not done.wait(_POLL_S) and not self.session.cancel_token.is_cancelled:
            pass
        self.jobs.stop(JOB)

    def follow(self) -> None:
        """Start over from the current values, if the current schedule applies and has knobs."""
        session = self.session
        trace, is_current = session.trace, session.is_trusted and not session.is_stale
        if not self.jobs.is_threaded or not is_current or trace is None or trace.outcome.status != "ok":
            return
        schedules = list(neighbors(session.schedule, self.moved))
        if schedules:
            self.jobs.start(JOB, lambda stopped: self._work(schedules, stopped))

    def _work(self, schedules: list[Schedule], stopped: Stopped) -> None:
        begun = time.monotonic()
        while time.monotonic() < begun + _REST_S:
            if stopped():
                return
            time.sleep(_POLL_S)
        for schedule in schedules[:MOST_NEIGHBORS]:
            if not self.session.traces.has(schedule):
                self._take(schedule, stopped)
            if stopped() or time.monotonic() > begun + _MOST_S:
                return

    def _take(self, schedule: Schedule, stopped: Stopped) -> None:
        done = threading.Event()
        self._running[done] = schedule
        limits = Limits(seconds=_MOST_S, stopped=stopped)
        try:
            # Another worker than the session's: that one is free for what is asked meanwhile.
            trace = trace_schedule(self.session.payload, schedule, worker=trying_worker(), limits=limits)
            self.session.traces.keep(schedule, trace)
            self.prepare(trace, stopped)
        except LhkitError:
            pass  # cancelled, or it cannot be traced, which is told when it is asked for
        finally:
            del self._running[done]
            done.set()
