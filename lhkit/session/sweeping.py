"""Sweeps: a schedule's knobs tried out, in the background of a notebook or to the end in a script."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lhkit.analysis.confirmation import Confirmation
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.failure import Failure
from lhkit.model.payload import Payload
from lhkit.model.registry import Showable
from lhkit.model.schedule import Schedule
from lhkit.model.sweep import SweepEnd, SweepRecord, SweepResult
from lhkit.session.loading import as_payload, as_schedule
from lhkit.session.sweep_executors import check_executor, prepare_with_executor
from lhkit.session.sweep_files import default_store
from lhkit.session.sweep_subjects import Preparation, first_values, prepare_task
from lhkit.session.winning import ConfirmationRun, choose_winner, start_confirmation
from lhkit.session.workers import own_worker
from lhkit.sweeping.engine import OnEvent, SweepEvent, SweepProgress, run_sweep
from lhkit.sweeping.executor import Executor, LocalExecutor
from lhkit.sweeping.narrowing import Narrowing
from lhkit.sweeping.space import Space, space_of
from lhkit.sweeping.store import Store
from lhkit.sweeping.strategies import make_strategy
from lhkit.sweeping.strategies.proposing import Strategy
from lhkit.sweeping.task import Task
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits

VARIANT_LIMITS = Limits(seconds=20.0)
_PAYLOAD_AXIS = "payload"

PayloadLike = Payload | str | os.PathLike[str]


def sweep(
    payload: PayloadLike | Mapping[str, PayloadLike],
    schedule: Schedule | str | os.PathLike[str],
    *,
    knobs: Mapping[str, Narrowing] | None = None,
    constraints: Sequence[Any] = (),
    strategy: str | Strategy = "grid",
    budget: int | None = None,
    seconds: float | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int = 0,
    executor: str = "local",
    limits: Limits | None = None,
    worker: Worker | None = None,
    resume: bool = True,
    sync: bool = False,
    on_event: OnEvent | None = None,
    **how: Any,
) -> Sweep:
    """Try the variants of a schedule's knobs: each is compiled, verified and timed, and kept in a store.

    Where an event loop is running (in a notebook) it returns at once and the sweep goes on in the background;
    in a script it runs to the end. A variant that is in the store is not tried again, so that a sweep that was
    stopped, interrupted or killed goes on where it was. Equal programs are compiled and timed once. Each is
    verified against the payload's NumPy reference, else against the unscheduled payload.

    Args:
        payload: The payload, loaded or a path; several by name make ``payload`` the first axis.
        schedule: The schedule, loaded or a path; knobs that are set keep their values unless they are narrowed.
        knobs: What is left of knobs: lists, or texts such as ``4,8,16``, ``1..64``, ``8..256*2``.
        constraints: What a variant has to meet beside what the schedule requires: texts, functions of knobs.
        strategy: ``grid``, ``random``, ``latin-hypercube``, ``coordinate-descent``, ``tpe``, or a `Strategy`.
        budget: How many variants, those that are known among them.
        seconds: How long, from the first variant on.
        store: The file of the records; without one it is the same file for the same payload and schedule.
        seed: What the order of the variants and the arguments are drawn from.
        executor: Where variants are tried: ``local``; ``dask:ADDRESS``, on the machines of the Dask cluster
            with that scheduler, one variant at a time each; ``dask``, on a cluster of this machine (in a
            script call it under ``if __name__ == "__main__":``, as Dask asks for).
        limits: Time and memory for one variant; 20 seconds if not given.
        resume: Whether to use what the store knows.
        sync: Have every record on the disk before the next variant, should the machine itself die.
        worker: A worker to use instead of one of the sweep's own.
        on_event: Called with a `SweepEvent` after every variant and at the end.
        **how: ``function``, ``arguments``, ``opt_level`` (3, as for ``lhkit.compile``), ``microkernels``,
            ``pin`` and ``deduplicate``; see `Preparation`.

    Returns:
        The sweep: live where a loop is running, else at its end.

    Raises:
        UsageError: A knob, value, constraint, strategy or store that cannot be used.
        LhkitError: In a script: nothing can be tried, or a record cannot be kept.
    """
    found = prepare_sweep(
        payload,
        schedule,
        knobs=knobs,
        constraints=constraints,
        strategy=strategy,
        budget=budget,
        store=store,
        seed=seed,
        executor=executor,
        limits=limits,
        worker=worker,
        **how,
    )
    if on_event is not None:
        found.subscribe(on_event)
    found.start(seconds=seconds, resume=resume, sync=sync)
    return found


def prepare_sweep(
    payload: PayloadLike | Mapping[str, PayloadLike],
    schedule: Schedule | str | os.PathLike[str],
    *,
    knobs: Mapping[str, Narrowing] | None = None,
    constraints: Sequence[Any] = (),
    strategy: str | Strategy = "grid",
    budget: int | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: int = 0,
    executor: str = "local",
    limits: Limits | None = None,
    worker: Worker | None = None,
    **how: Any,
) -> Sweep:
    """Return a sweep that has not begun; the arguments are those of `sweep`."""
    check_executor(executor)
    payloads, axis = _payloads(payload, worker)
    loaded = as_schedule(schedule, worker)
    how = {"seed": seed, **how}
    try:
        preparation = Preparation(**how)
    except TypeError as error:
        raise usage_error(f"sweep: {error}") from None
    one_or_many = {"payloads": payloads} if axis else {"payload": payloads[""]}
    space = space_of(loaded, knobs=knobs, constraints=constraints, function=preparation.function, **one_or_many)
    chosen = make_strategy(strategy, space, seed=seed, budget=budget) if isinstance(strategy, str) else strategy
    return Sweep(
        payloads,
        axis,
        loaded,
        space,
        chosen,
        preparation,
        path=Path(store) if store is not None else default_store(payloads, loaded),
        limits=limits or VARIANT_LIMITS,
        worker=worker,
        total=_total(space, budget),
        executor=executor,
    )


def _payloads(
    given: PayloadLike | Mapping[str, PayloadLike], worker: Worker | None
) -> tuple[dict[str, Payload], str | None]:
    if not isinstance(given, Mapping):
        return {"": as_payload(given, worker)}, None
    return {name: as_payload(each, worker) for name, each in given.items()}, _PAYLOAD_AXIS


def _total(space: Space, budget: int | None) -> int | None:
    count = space.count()
    if not count.is_exact:
        return budget
    return int(count) if budget is None else min(budget, int(count))


class Sweep(Showable):
    """A sweep, while it runs and afterwards.

    ``await`` waits for its end. All else may be asked for at any time.

    Attributes:
        space: What it chooses from.
        schedule: The schedule.
        store_path: The file of its records.
        total: How many variants there will be at most, or None.
        failure: Why it broke off, or None.
        confirmation: What the last confirmation found, or None.
    """

    def __init__(
        self,
        payloads: Mapping[str, Payload],
        payload_axis: str | None,
        schedule: Schedule,
        space: Space,
        strategy: Strategy,
        preparation: Preparation,
        *,
        path: Path,
        limits: Limits,
        worker: Worker | None,
        total: int | None,
        executor: str = "local",
    ) -> None:
        self.space, self.schedule, self.total = space, schedule, total
        self.store_path = path
        self.failure: Failure | None = None
        self.confirmation: Confirmation | None = None
        self._payloads, self._payload_axis = payloads, payload_axis
        self._strategy, self._preparation, self._limits = strategy, preparation, limits
        self._given_worker, self._executor_name = worker, executor
        self._progress = SweepProgress()
        self._callbacks: list[OnEvent] = []
        self._stop: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._task: asyncio.Task[None] | None = None
        self._winner: SweepRecord | None = None

    def start(self, *, seconds: float | None = None, resume: bool = True, sync: bool = False) -> None:
        """Begin; `sweep` has done that. The arguments are those of `sweep`."""
        store = Store(self.store_path, sync=sync)
        run = self._run(store, seconds, resume)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(run)
            return
        self._task = loop.create_task(run)
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _run(self, store: Store, seconds: float | None, resume: bool) -> None:
        stop = asyncio.Event()
        self._stop = (asyncio.get_running_loop(), stop)
        try:
            with store:
                await self._try_all(store, stop, seconds, resume)
        except LhkitError as error:
            self.failure = error.failure
            raise
        finally:
            progress = self._progress
            progress.end = progress.end or "stopped"
            self._winner = choose_winner(progress.records)
            self._stop = None
            done = len(progress.records)
            self._send(SweepEvent(None, False, done, self.total, self.best, progress.end))

    async def _try_all(self, store: Store, stop: asyncio.Event, seconds: float | None, resume: bool) -> None:
        started = time.perf_counter_ns()
        worker = self._given_worker or own_worker()
        local = LocalExecutor(worker, self._limits, close_worker=self._given_worker is None)
        preparing = asyncio.to_thread(self._prepare, worker, stop.is_set)
        try:
            prepared = await _unless(stop, asyncio.ensure_future(preparing), local)
            if prepared is None:
                return
            task, elsewhere = prepared
            self._progress.spent_ns["prepare"] = time.perf_counter_ns() - started
            await run_sweep(
                task,
                self._strategy,
                store,
                elsewhere or local,
                self._progress,
                stop=stop,
                seconds=seconds,
                total=self.total,
                resume=resume,
                on_event=self._send,
            )
        finally:
            await local.close()

    def _prepare(self, worker: Worker, is_stopped: Callable[[], bool]) -> tuple[Task, Executor | None]:
        first = first_values(dict(next(self.space.points())), self._payload_axis)
        what = (self._payloads, self.schedule, first, self._payload_axis, self._preparation, worker)
        level = self._preparation.opt_level
        prepare = functools.partial(prepare_task, *what)
        return prepare_with_executor(self._executor_name, worker, self._limits, level, prepare, is_stopped)

    def _send(self, event: SweepEvent) -> None:
        for callback in tuple(self._callbacks):
            callback(event)

    def subscribe(self, callback: OnEvent) -> Callable[[], None]:
        """Have a function called with every event from now on; return the function that ends that."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    def stop(self) -> None:
        """End the sweep within half a second, from any thread; what is done is kept."""
        if self._stop is not None:
            loop, event = self._stop
            loop.call_soon_threadsafe(event.set)

    @property
    def is_running(self) -> bool:
        """True until it has ended."""
        return self._progress.end is None

    @property
    def end(self) -> SweepEnd | None:
        """How it ended, or None while it runs."""
        return self._progress.end

    @property
    def records(self) -> tuple[SweepRecord, ...]:
        """The variants that are done, in order."""
        return tuple(self._progress.records)

    @property
    def best(self) -> SweepRecord | None:
        """The best variant so far; at the end the winner."""
        return self._progress.best if self._winner is None else self._winner

    def result(self) -> SweepResult:
        """Return what was found so far, as a value.

        Raises:
            LhkitError: The sweep broke off; its records are in the store.
        """
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()
        axes = tuple((axis.name, axis.values) for axis in self.space.axes)
        return SweepResult(
            payloads=tuple(p.source for p in self._payloads.values()),
            schedule=self.schedule,
            axes=axes,
            records=self.records,
            best=self.best,
            known=self._progress.known,
            end=self._progress.end,
            spent_ns=tuple(self._progress.spent_ns.items()),
            store=str(self.store_path),
        )

    def confirm(self, *, payload: str | None = None, **options: Any) -> ConfirmationRun:
        """Time the best few and the schedule as it was given again, side by side in fresh processes.

        Where an event loop is running it returns at once; ``await`` gives the `Confirmation`. The one that is
        ahead in the end is `best` from then on, whether it won or cannot be told from others.

        Args:
            payload: Which payload, where there are several.
            **options: ``seconds`` it may take (60, or None), ``rule``, ``rounds``, ``limits`` and ``on_event``;
                see `Confirming`.

        Raises:
            UsageError: The sweep still runs, no variant was timed, or there are several payloads.
        """
        if self.is_running:
            raise usage_error("the sweep still runs", "Wait for its end (await sweep) or stop it first.")
        which = (self._payloads, self._payload_axis, payload)
        records, how, on_end = self.records, self._preparation, self._take_confirmation
        return start_confirmation(records, which, self.schedule, how, on_end, **options)

    def _take_confirmation(self, found: Confirmation) -> None:
        self.confirmation = found
        if self._payload_axis is None:
            self._winner = next(r for r in self.records if r.key == found.leader_key)

    def best_schedule(self) -> str:
        """Return the best schedule so far; see `SweepResult.best_schedule`."""
        return self.result().best_schedule()

    def __await__(self) -> Generator[Any, None, Sweep]:
        if self._task is not None:
            yield from self._task
        return self

    def __repr__(self) -> str:
        progress = self._progress
        of = f" of {self.total}" if self.total is not None else ""
        how = "broke off" if self.failure else progress.end or "running"
        best = f", best {_shown(self.best)}" if self.best else ""
        return f"Sweep({self.schedule.source}: {len(progress.records)}{of} variants, {how}{best})"


def _shown(record: SweepRecord) -> str:
    values = " ".join(f"{name}={value}" for name, value in record.knobs)
    return f"{values} at {record.time_ns.median / 1e3:.4g} µs" if record.time_ns else values


async def _unless(stop: asyncio.Event, work: asyncio.Future[Any], executor: Executor) -> Any:
    """Return what comes of some work, or None if it is stopped before; then the executor is closed."""
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return work.result() if work.done() else None
    finally:
        stopping.cancel()
        if not work.done() or work.cancelled() or work.exception() is not None:
            work.cancel()
            await executor.close()
