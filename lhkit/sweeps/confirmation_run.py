"""Confirmation of a sweep's winner: the best few and the baseline, side by side, in fresh processes."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import random
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, TypeVar

from lhkit.bench.side_by_side import REFERENCE_NAME, measure
from lhkit.kernels.kernel import Kernel, compile_kernel
from lhkit.model.errors import Failure, LhkitError, WrongResultError, error_for, usage_error
from lhkit.model.instructions import HotLoops
from lhkit.model.measurement import Comparison
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.confirmation import (
    Confirmation,
    ConfirmationEnd,
    ConfirmingEvent,
    Rule,
    Verdict,
    contest,
    find_speed_ups,
    find_throughput,
    judge,
)
from lhkit.sweeps.record_store import ConfirmationLog
from lhkit.sweeps.sweep_task import CONFIRM_SECONDS, SweepOptions, sha256_of
from lhkit.sweeps.variant_record import SweepRecord, timed_records
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.limits import Limits

T = TypeVar("T")

BASELINE_NAME = "default knobs"
_ROUNDS = 9
# Sampling time per process, without its start, compilation and warm-up.
_SECONDS_A_PROCESS = 2.0
_MOST_FAILURES = 2
# A request that runs at the stop may still finish within this time.
_GRACE_SECONDS = 0.3


class Confirming:
    """A confirmation run: `run` blocks until it is decided, `stop` ends it from another thread.

    In each process the programs are compiled again, in a new random order, since the placement of their code
    depends on it. The baseline is sampled in the first few processes only.

    Args:
        rule: When a winner is named.
        rounds: Samples of each program in a process.
        options: How programs are compiled, and what they run on.
        on_event: Called at the beginning and after each process, in the thread that runs.
        log: Where what processes measure is kept; closed at the end.
        resume: Whether processes that the log knows of the same contest count.
    """

    def __init__(
        self,
        payload: Payload,
        schedule: Schedule,
        contenders: Sequence[SweepRecord],
        *,
        rule: Rule | None = None,
        seconds: float | None = CONFIRM_SECONDS,
        rounds: int = _ROUNDS,
        options: SweepOptions | None = None,
        limits: Limits | None = None,
        on_event: Callable[[ConfirmingEvent], None] | None = None,
        log: ConfirmationLog | None = None,
        resume: bool = False,
    ) -> None:
        if not contenders:
            raise usage_error("there is nothing to confirm", "No variant was timed; look at the failures.")
        self._payload, self._limits, self._on_event = payload, limits, on_event
        self._rule, self._seconds, self._rounds = rule or Rule(), seconds, rounds
        self._options = options or SweepOptions()
        self._log = log
        known = {knob.name for knob in schedule.knobs}
        self._records = {_name(record, contenders): record for record in contenders}
        self._schedules: dict[str, Schedule] = {
            name: schedule.with_knobs({n: v for n, v in record.knobs if n in known})
            for name, record in self._records.items()
        }
        self._baseline = self._add_baseline(schedule)
        self._worker: Worker | None = None
        self._kernels: dict[str, Kernel] = {}
        self._is_stopped = False
        self._keeping = threading.Lock()
        # All that decides the samples of a process.
        facts = {
            "contenders": {name: record.key for name, record in self._records.items()},
            "baseline": [self._baseline, dict(schedule.values) if self._baseline else None],
            "rounds": self._rounds,
            "seed": self._options.seed,
            "measuring": {"pin": self._options.pin},
            # Otherwise the contenders' keys say it.
            **({} if self._options.rank_level is None else {"opt_level": self._options.opt_level}),
        }
        self._contest = sha256_of(facts)
        self._known = list(log.runs(self._contest)) if log is not None and resume else []
        self._known_before = len(self._known)
        self._runs: list[Comparison] = []
        self._failures: list[Failure] = []
        self._started = time.monotonic()
        self._longest_s = 0.0

    def _add_baseline(self, schedule: Schedule) -> str | None:
        """Return the name of the schedule as it was given, or None where one of its knobs has no value."""
        set_already = dict(schedule.settings)
        if any(knob.default is None and knob.name not in set_already for knob in schedule.knobs):
            return None
        for name, each in self._schedules.items():
            if each.values == schedule.values:
                return name
        self._schedules[BASELINE_NAME] = schedule
        return BASELINE_NAME

    @property
    def processes(self) -> int:
        """The number of processes that are done."""
        return len(self._runs)

    @property
    def most_processes(self) -> int:
        """The largest number of processes."""
        return self._rule.looks[-1 if len(self._records) > 1 else 0]

    def stop(self) -> None:
        """End the run, from any thread; what is known stays, and nothing is added to the log any more."""
        with self._keeping:
            self._is_stopped = True
            if self._log is not None:
                self._log.close()
        if (worker := self._worker) is not None:
            worker.cancel()

    def run(self) -> Confirmation:
        """Sample process after process until the rule decides, time is up, or `stop` is called."""
        self._started = time.monotonic()
        names = tuple(self._records)
        self._tell(names)
        try:
            if len(names) > 1:
                contest(self._sample, names, self._rule)
            else:  # nothing to decide, but a speed-up to measure
                while len(self._runs) < self.most_processes and self._sample(names) is not None:
                    pass
            found = self.confirmation()
            return dataclasses.replace(found, hot_loops=self._find_hot_loops(found.verdict.leader.name))
        finally:
            self._close_worker()
            if self._log is not None:
                self._log.close()

    def confirmation(self) -> Confirmation:
        """Return what is known so far."""
        runs = tuple(self._runs)
        self._require_runs()
        verdict = judge(runs, tuple(self._records), self._rule, is_over=True)
        leader = verdict.leader.name
        gflops, of_peak = find_throughput(runs, leader)
        return Confirmation(
            verdict=verdict,
            knobs=tuple((name, record.knobs) for name, record in self._records.items()),
            keys=tuple((name, record.key) for name, record in self._records.items()),
            speed_ups=find_speed_ups(runs, leader, [n for n in (self._baseline, REFERENCE_NAME) if n]),
            gflops=gflops,
            of_peak=of_peak,
            hot_loops=None,
            end=self._end(verdict),
            seconds=time.monotonic() - self._started,
            runs=runs,
            problem=self._failures[0].message if self._failures else None,
            known=min(self._known_before, len(runs)),
        )

    def _sample(self, alive: tuple[str, ...]) -> Comparison | None:
        """Return what another process measured, or None if there will be none."""
        if self._known and not self._is_stopped:
            run = self._known.pop(0)
            if set(alive) <= {m.name for m in run.measurements}:
                self._runs.append(run)
                return run
            self._known.clear()
            self._known_before = len(self._runs)
        while not self._is_stopped and len(self._failures) <= _MOST_FAILURES and not self._is_late():
            begun = time.monotonic()
            try:
                run = self._process(alive)
            except LhkitError as error:
                self._failures.append(error.failure)
                continue
            finally:
                self._longest_s = max(self._longest_s, time.monotonic() - begun)
            if not self._keep(run):
                break
            self._tell(alive)
            return run
        self._require_runs()
        return None

    def _keep(self, run: Comparison) -> bool:
        """Append the samples of a process, unless the run was stopped meanwhile."""
        with self._keeping:
            if self._is_stopped:
                return False
            if self._log is not None:
                self._log.add_run(self._contest, len(self._runs), run)
            self._runs.append(run)
        return True

    def _tell(self, alive: tuple[str, ...]) -> None:
        if self._on_event is not None:
            done = len(self._runs) or self._known_before
            self._on_event(ConfirmingEvent(done, self.most_processes, alive, self._seconds))

    def _is_late(self) -> bool:
        """Return whether another process would not end in time; the first of a run always may."""
        if self._seconds is None or not self._longest_s:
            return False
        return time.monotonic() - self._started + self._longest_s >= self._seconds

    def _process(self, alive: tuple[str, ...]) -> Comparison:
        names = list(alive)
        if self._baseline not in (None, *names) and len(self._runs) < self._rule.looks[0]:
            names.append(str(self._baseline))
        # Drawn from the number of the process, so that a run that goes on draws what it would have drawn.
        seed = self._options.seed
        random.Random(f"{seed} {len(self._runs)}").shuffle(names)
        worker = self._fresh_worker()
        self._kernels = {name: self._compile(name, worker) for name in names}
        comparison = measure(
            self._kernels,
            self._options.arguments,
            rounds=self._rounds,
            seconds=_SECONDS_A_PROCESS,
            seed=seed + len(self._runs),
            limits=self._limits,
            pin=self._options.pin,
        )
        for m in comparison.measurements:
            if m.verification is not None and not m.verification.ok:
                message = f"{m.name} differs from {m.verification.against}: {m.verification.difference}"
                raise WrongResultError(Failure(kind="wrong-result", message=message))
        return comparison

    def _fresh_worker(self) -> Worker:
        self._close_worker()
        self._worker = worker = Worker(self._limits)
        # Most often the transform ops that the session loaded.
        worker.preparation = (self._options.worker or shared_worker()).preparation
        return worker

    def _close_worker(self) -> None:
        self._kernels = {}
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    def _compile(self, name: str, worker: Worker) -> Kernel:
        if self._is_stopped:  # while the process started
            raise error_for(Failure(kind="cancelled", message="the confirmation was stopped"))
        options: dict[str, Any] = {
            field: getattr(self._options, field)
            for field in ("function", "opt_level", "target", "microkernels")
        }
        schedule = self._schedules[name]
        return compile_kernel(self._payload, schedule, worker=worker, limits=self._limits, **options)

    def _find_hot_loops(self, name: str) -> HotLoops | None:
        if self._is_stopped:
            return None
        if self._log is not None and (known := self._log.hot_loops(self._contest, name)) is not None:
            return known
        try:
            kernel = self._kernels.get(name) or self._compile(name, self._fresh_worker())
            found = kernel.hot_loops()
            with self._keeping:
                if self._log is not None and not self._is_stopped:
                    self._log.add_hot_loops(self._contest, name, found)
            return found
        except LhkitError as error:
            self._failures.append(error.failure)
            return None

    def _end(self, verdict: Verdict) -> ConfirmationEnd:
        has_all = len(self._runs) >= self.most_processes
        is_closed = verdict.winner is not None or all(s.state != "open" for s in verdict.standings)
        if is_closed if len(self._records) > 1 else has_all:
            return "decided"
        if self._is_stopped:
            return "stopped"
        if len(self._failures) > _MOST_FAILURES:
            return "failed"
        return "out of processes" if has_all else "out of time"

    def _require_runs(self) -> None:
        if self._runs:
            return
        if self._failures and not self._is_stopped:
            raise error_for(self._failures[0])
        what = "the confirmation was stopped before its first process was done"
        raise error_for(Failure(kind="cancelled", message=what))


def _name(record: SweepRecord, contenders: Sequence[SweepRecord]) -> str:
    """Return a contender's name: its knobs, those left out that all have in common."""
    shown = [f"{n}={v}" for n, v in record.knobs if any(dict(c.knobs).get(n) != v for c in contenders)]
    return " ".join(shown) or "the best variant"


def begin(work: Coroutine[Any, Any, T]) -> asyncio.Task[T] | None:
    """Run a coroutine: in the background where an event loop is running, else to its end."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return None
    task = loop.create_task(work)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task


async def ends_before(stop: asyncio.Event, work: asyncio.Future[Any]) -> bool:
    """Wait for the end of some work or for a stop; return whether the work ended."""
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return work.done()
    finally:
        stopping.cancel()


async def confirm(confirming: Confirming, stop: asyncio.Event) -> Confirmation:
    """Run a confirmation in a thread while the event loop stays free."""
    running = asyncio.ensure_future(asyncio.to_thread(confirming.run))
    try:
        if not await ends_before(stop, running):
            confirming.stop()
            await asyncio.wait({running}, timeout=_GRACE_SECONDS)
        # A process that is just starting ends after its start, which is not waited for.
        return running.result() if running.done() else confirming.confirmation()
    finally:
        if not running.done():
            confirming.stop()
            running.add_done_callback(lambda r: r.cancelled() or r.exception())


class ConfirmationRun:
    """A confirmation: in the background of a notebook, or done in a script; ``await`` gives what it found."""

    def __init__(self, confirming: Confirming, on_end: Callable[[Confirmation], None]) -> None:
        self._confirming, self._on_end = confirming, on_end
        self._stop = asyncio.Event()
        self._task: asyncio.Task[Confirmation] | None = None
        self._found: Confirmation | None = None

    def start(self) -> None:
        """Begin: in the background where an event loop is running, else to the end."""
        self._task = begin(self._run())

    async def _run(self) -> Confirmation:
        self._found = await confirm(self._confirming, self._stop)
        self._on_end(self._found)
        return self._found

    def stop(self) -> None:
        """End it within half a second; what is known is its result."""
        self._stop.set()

    def result(self) -> Confirmation:
        """Return what is known so far.

        Raises:
            LhkitError: Nothing is, since no process came to its end.
        """
        if self._task is not None and self._task.done() and not self._task.cancelled():
            return self._task.result()
        return self._found if self._found is not None else self._confirming.confirmation()

    def __await__(self) -> Generator[Any, None, Confirmation]:
        if self._task is not None:
            yield from self._task
        return self.result()

    def __repr__(self) -> str:
        of = f"{self._confirming.processes} of at most {self._confirming.most_processes} processes"
        return f"ConfirmationRun({of}, {'running' if self._found is None else 'done'})"


_MOST_CONTENDERS = 5
# However clear the times of a sweep look: a disturbance may have hit the best one alone.
_LEAST_CONTENDERS = 3
# A sweep times its variants one after the other: between two of them clock and memory placement move times.
_DRIFT = 0.05
# Standard errors on each side, and the standard deviation of a normal distribution as a multiple of its MAD.
_ERRORS, _MADS = 3.0, 1.4826
# Of a median, as a multiple of that of a mean.
_MEDIAN = math.sqrt(math.pi / 2)


def choose_contenders(records: Sequence[SweepRecord]) -> tuple[SweepRecord, ...]:
    """Return the variants that may be the best one, the best by the sweep's own times first.

    These are the variants whose times, with three standard errors and 5 % for what drifts between two of them,
    overlap with those of the best, and in any case the best three, since other programs that ran beside the
    sweep may have disturbed one alone; not those that are known to be the same program as another one.
    """
    timed = timed_records(records)
    errors = [_ERRORS * _MEDIAN * _MADS * t.mad / math.sqrt(max(t.runs, 1)) for t, _ in timed]
    chosen = [
        record
        for place, (time, record) in enumerate(timed)
        if place < _LEAST_CONTENDERS
        or (time.median - errors[place]) / (1 + _DRIFT) <= timed[0][0].median + errors[0]
    ]
    return tuple(chosen[:_MOST_CONTENDERS])
