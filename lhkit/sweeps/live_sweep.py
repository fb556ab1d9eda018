"""``lhkit.sweep`` and the `Sweep` object: state, events, stopping, confirmation."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from lhkit.load.loader import as_payload, as_schedule
from lhkit.load.target_choice import code_target
from lhkit.model.errors import Failure, LhkitError, public, usage_error
from lhkit.model.payload import Payload
from lhkit.model.printable import printable
from lhkit.model.schedule import Schedule
from lhkit.model.showable import Showable
from lhkit.sweeps.confirmation import Confirmation, ConfirmingEvent
from lhkit.sweeps.confirmation_run import (
    ConfirmationRun,
    Confirming,
    begin,
    choose_contenders,
    confirm,
    ends_before,
)
from lhkit.sweeps.dask_executor import DaskSweep
from lhkit.sweeps.engine import Executor, LocalExecutor, OnEvent, SweepEvent, SweepProgress, SweepRun
from lhkit.sweeps.paired_executor import LEAST_VARIANTS, PairedExecutor, can_overlap
from lhkit.sweeps.record_store import ConfirmationLog, Store, log_path, merge_stores
from lhkit.sweeps.space import PAYLOAD_AXIS, Narrowing, Space, space_of
from lhkit.sweeps.strategies import make_strategy
from lhkit.sweeps.strategies.predicted import Predicted, Prediction
from lhkit.sweeps.strategies.strategy import Strategy, learns
from lhkit.sweeps.sweep_files import default_store
from lhkit.sweeps.sweep_summary import KindOutcome, SweepResult
from lhkit.sweeps.sweep_task import SweepOptions, Task, environment_facts, prepare_task, sha256_of
from lhkit.sweeps.variant_record import SweepEnd, SweepRecord, best_of
from lhkit.tuned.best_known import can_be_kept, keep_winner
from lhkit.tuned.payload_content import Content, content_of
from lhkit.worker.client import Worker
from lhkit.worker.reproducer import typed_error
from lhkit.worker.spare_workers import give_back, take_worker

# Records after which a running sweep asks its cost model again.
_BELIEVED_EVERY = 10


@dataclass(eq=False, repr=False)
class Sweep(Showable):
    """A sweep, while it runs and afterwards.

    ``await`` waits for its end. All else may be asked for at any time.

    Attributes:
        space: What it chooses from.
        schedule: The schedule.
        store_path: The file of its records.
        total: How many variants there will be at most, or None.
        failure: Why it broke off, or None.
        confirmations: What confirmations found, by payload; of a single one by ``""``.
        confirming: How far a confirmation that is running has come, or None.
        confirming_failure: Why the winner could not be confirmed, or None.
    """

    _payloads: Mapping[str, Payload]
    _payload_axis: str | None
    schedule: Schedule
    space: Space
    _strategy: Strategy
    _options: SweepOptions
    store_path: Path
    total: int | None
    failure: Failure | None = field(default=None, init=False)
    confirmations: dict[str, Confirmation] = field(default_factory=dict, init=False)
    confirming: ConfirmingEvent | None = field(default=None, init=False)
    confirming_failure: Failure | None = field(default=None, init=False)
    _progress: SweepProgress = field(default_factory=SweepProgress, init=False)
    _callbacks: list[OnEvent] = field(default_factory=list, init=False)
    _stop: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = field(default=None, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _winner: SweepRecord | None = field(default=None, init=False)
    _is_over: bool = field(default=False, init=False)
    _believed: Prediction | None = field(default=None, init=False)
    _believed_at: int = field(default=0, init=False)
    _is_of_this_machine: bool = field(default=True, init=False)
    _elsewhere: DaskSweep | None = field(default=None, init=False)
    _make_strategy: Callable[[], Strategy] | None = field(default=None, init=False)  # None: it was given
    _by_kind: dict[str, SweepProgress] = field(default_factory=dict, init=False)  # Of other kinds of machines
    _kind_failures: dict[str, str] = field(default_factory=dict, init=False)
    _contents: Mapping[str, Content] = field(default_factory=dict, init=False)  # Of payloads that can be kept

    def start(self) -> None:
        """Begin; `lhkit.sweep` has done that, unless told not to."""
        others = [Store(path, read_only=True) for path in self._options.known]
        store = Store(self.store_path, sync=self._options.sync)
        try:
            merge_stores(store, others)
        except BaseException:
            store.close()
            raise
        self._task = begin(self._run(store))

    async def _run(self, store: Store) -> None:
        stop = asyncio.Event()
        self._stop = (asyncio.get_running_loop(), stop)
        try:
            with store:
                await self._try_all(store, stop)
                self._winner = best_of(self._progress.records)
                store.sync()
                if self._options.confirm and self._winner is not None and not stop.is_set():
                    await self._confirm_all(stop)
        except Exception as error:  # noqa: BLE001 - who awaits the sweep gets a typed one
            typed = typed_error(error, "sweep")
            self.failure = typed.failure
            raise typed from (None if typed is error else error)
        finally:
            progress = self._progress
            progress.end = progress.end or "stopped"
            self._winner = self._winner or best_of(progress.records)
            self._stop, self._is_over = None, True
            done = len(progress.records)
            self._send(SweepEvent(None, False, done, self.total, self.best, progress.end))

    async def _try_all(self, store: Store, stop: asyncio.Event) -> None:
        started, options = time.perf_counter_ns(), self._options
        worker = options.worker or take_worker()
        done_with = give_back if options.worker is None else None
        local = LocalExecutor(worker, options.limits, done_with=done_with)
        second = take_worker() if self._may_overlap() else None
        starting = second.start_early() if second is not None else None  # while the first one prepares
        preparing = asyncio.ensure_future(asyncio.to_thread(self._prepare, worker, second, stop.is_set))
        pair: PairedExecutor | None = None
        try:
            if not await ends_before(stop, preparing):
                return
            task, beside, self._elsewhere = preparing.result()
            elsewhere = self._elsewhere
            self._is_of_this_machine = elsewhere is None or elsewhere.is_like_here
            self._progress.spent_ns["prepare"] = time.perf_counter_ns() - started
            executor: Executor | None = None
            if elsewhere is not None:
                executor = elsewhere.executor(task.environment, batched=self._batched(self._strategy))
            if second is not None and beside is not None:
                pair = PairedExecutor(local, second, (task, beside), options.limits)
            executor = executor or pair or local
            what = (task, self._strategy, store, executor, self._progress, self.total, self._send)
            kinds = await self._other_kinds(worker, store)
            others = [asyncio.ensure_future(self._run_kind(kind, run, stop)) for kind, run in kinds.items()]
            try:
                await SweepRun(*what).run(stop, seconds=options.seconds, resume=options.resume)
            except BaseException:
                stop.set()
                raise
            finally:
                await asyncio.gather(*others)
        finally:
            if not preparing.done() and options.worker is None:
                worker.close()
            preparing.cancel()
            await local.close()
            if second is not None and starting is not None:
                await asyncio.to_thread(starting.join)
                if pair is None:
                    await asyncio.to_thread(second.close)

    def _batched(self, strategy: Strategy) -> int:
        """Return how many variants machines may take ahead of the answers to others."""
        return 0 if learns(strategy) else self.total or sys.maxsize

    def _may_overlap(self) -> bool:
        """Return whether a second process that compiles is wanted, and possible."""
        options = self._options
        is_wanted = options.overlap or (options.overlap is None and (self.total or 0) >= LEAST_VARIANTS)
        is_here = options.worker is None and options.executor == "local"
        return is_wanted and is_here and can_overlap()

    async def _confirm_all(self, stop: asyncio.Event) -> None:
        """Confirm the winner of each payload; they share the time that there is."""
        started = time.perf_counter_ns()
        loop = asyncio.get_running_loop()

        def send(event: ConfirmingEvent) -> None:
            loop.call_soon_threadsafe(self._send_confirming, event)

        try:
            if not self._is_of_this_machine:
                raise usage_error("variants were tried on machines of another kind than this one")
            names = [name for name in self._payloads if self._contenders(name)]
            for i, name in enumerate(names):
                if stop.is_set():
                    break
                spent_s = (time.perf_counter_ns() - started) / 1e9
                seconds = self._options.confirm_seconds
                left_s = None if seconds is None else max(seconds - spent_s, 0) / (len(names) - i)
                resume = self._options.resume
                confirming = self._confirming(name, resume=resume, seconds=left_s, on_event=send)
                self._take_confirmation(name, await confirm(confirming, stop))
        except LhkitError as error:
            if error.failure.kind != "cancelled":
                self.confirming_failure = error.failure
        finally:
            self.confirming = None
            self._progress.spent_ns["confirm"] = time.perf_counter_ns() - started

    def _send_confirming(self, event: ConfirmingEvent) -> None:
        if not self._is_over:
            self.confirming = event
            done = len(self._progress.records)
            self._send(SweepEvent(None, False, done, self.total, self.best, confirming=event))

    async def _other_kinds(self, worker: Worker, store: Store) -> dict[str, SweepRun]:
        """Return a run for each other kind of machine: times of different ones do not mix."""
        elsewhere, make = self._elsewhere, self._make_strategy
        runs: dict[str, SweepRun] = {}
        if elsewhere is None or make is None:
            return runs
        for kind in elsewhere.kinds[1:]:
            task = await asyncio.to_thread(self._task_of, worker, kind)
            self._by_kind[kind] = SweepProgress()
            strategy = make()
            executor = elsewhere.executor(kind, batched=self._batched(strategy))
            runs[kind] = SweepRun(task, strategy, store, executor, self._by_kind[kind], self.total)
        return runs

    async def _run_kind(self, kind: str, run: SweepRun, stop: asyncio.Event) -> None:
        try:
            await run.run(stop, seconds=self._options.seconds, resume=self._options.resume)
        except LhkitError as error:  # the others go on
            self._kind_failures[kind] = error.failure.message

    def _prepare(
        self, worker: Worker, second: Worker | None, is_stopped: Callable[[], bool]
    ) -> tuple[Task, Task | None, DaskSweep | None]:
        """Return the task, that of a second process, and what tries it if that is not the worker itself."""
        options, elsewhere = self._options, None
        if options.opt_level == SweepOptions().opt_level and not options.microkernels:
            kept = {name: each for name, each in self._payloads.items() if can_be_kept(each)}
            self._contents = {name: content_of(each, worker) for name, each in kept.items()}
        target = code_target(options.target, self.schedule)
        describe = functools.partial(environment_facts, opt_level=options.ranking_level, target=target)
        facts = describe(worker)
        environment = sha256_of(facts)
        if options.executor != "local":
            address, asked = options.executor.partition(":")[2] or None, worker.preparation
            elsewhere = DaskSweep(address, options.limits, preparation=asked, describe=describe, here=facts)
            environment = elsewhere.kinds[0]
        try:
            with ThreadPoolExecutor(1) as pool:
                making = pool.submit(self._task_beside, second, environment, is_stopped) if second else None
                task = self._task_of(worker, environment)
        except BaseException:
            if elsewhere is not None:
                elsewhere.end()
            raise
        if elsewhere is not None and is_stopped():
            elsewhere.end()
        return task, making.result() if making else None, elsewhere

    def _task_beside(self, second: Worker, environment: str, is_stopped: Callable[[], bool]) -> Task:
        """Return the task of a process that tries variants beside the first one."""
        try:
            return self._task_of(second, environment)
        finally:
            if is_stopped():  # what was asked after its end began another process
                second.close()

    def _task_of(self, worker: Worker, environment: str) -> Task:
        first = {name: value for name, value in next(self.space.points()) if name != self._payload_axis}
        axis, options = self._payload_axis, self._options
        return prepare_task(self._payloads, self.schedule, first, axis, options, worker, environment)

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
        return not self._is_over

    @property
    def end(self) -> SweepEnd | None:
        """How it ended, or None while it runs."""
        return self._progress.end if self._is_over else None

    @property
    def confirmation(self) -> Confirmation | None:
        """The confirmation of the only payload, or None."""
        return self.confirmations.get("")

    @property
    def records(self) -> tuple[SweepRecord, ...]:
        """The variants that are done, in order."""
        return tuple(self._progress.records)

    @property
    def best(self) -> SweepRecord | None:
        """The best variant so far; after a confirmation the winner, or the one that is ahead in it."""
        return self._progress.best if self._winner is None else self._winner

    def result(self) -> SweepResult:
        """Return what was found so far, as a value.

        Raises:
            LhkitError: The sweep broke off; its records are in the store.
        """
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()
        axes = tuple((axis.name, axis.values) for axis in self.space.axes)
        functions = {name: p.function(self._options.function) for name, p in self._payloads.items()}
        return SweepResult(
            payloads=tuple(p.source for p in self._payloads.values()),
            schedule=self.schedule,
            axes=axes,
            records=self.records,
            best=self.best,
            known=self._progress.known,
            end=self.end,
            spent_ns=tuple(self._progress.spent_ns.items()),
            store=str(self.store_path),
            confirmations=tuple(self.confirmations.items()),
            unconfirmed=self.confirming_failure.message if self.confirming_failure else None,
            prediction=self._prediction(),
            machines=tuple(self._elsewhere.pool.lines()) if self._elsewhere is not None else (),
            kinds=tuple(self._kind_outcomes()),
            signatures=tuple((n, ", ".join(t.describe() for t in f.arguments)) for n, f in functions.items()),
        )

    def _kind_outcomes(self) -> Iterator[KindOutcome]:
        for kind, progress in self._by_kind.items():
            name = self._elsewhere.pool.name_of(kind) if self._elsewhere is not None else kind
            failure = self._kind_failures.get(kind)
            yield KindOutcome(name, kind, len(progress.records), best_of(progress.records), failure)

    def _prediction(self) -> Prediction | None:
        """Return how far the strategy's cost model can be believed; now and then, as that takes some fits."""
        count = len(self._progress.records)
        least = 1 if self._is_over else _BELIEVED_EVERY
        if isinstance(self._strategy, Predicted) and count - self._believed_at >= least:
            self._believed, self._believed_at = self._strategy.prediction(), count
        return self._believed

    def confirm(self, *, payload: str | None = None, resume: bool = False, **options: Any) -> ConfirmationRun:
        """Time the best few and the schedule as it was given again, side by side in fresh processes.

        A sweep does that by itself at its end, unless told not to. Where an event loop is running it returns at
        once; ``await`` gives the `Confirmation`. The one that is ahead in the end is `best` from then on,
        whether it won or cannot be told from others; what was cut short before that changes nothing.

        Args:
            payload: Which payload, where there are several.
            resume: Whether processes that were measured before count; else it starts over.
            **options: ``seconds`` it may take (30, or None), ``rule``, ``rounds``, ``limits`` and ``on_event``;
                see `Confirming`.

        Raises:
            UsageError: The sweep still runs, no variant was timed, or there are several payloads.
        """
        if self.is_running:
            raise usage_error("the sweep still runs", "Wait for its end (await sweep) or stop it first.")
        name = "" if self._payload_axis is None else payload
        if name is None or name not in self._payloads:
            advice = f"Say which: payload={', '.join(map(repr, self._payloads))}."
            raise usage_error("what is best for one payload may not be for another", advice)
        confirming = self._confirming(name, resume=resume, **options)
        run = ConfirmationRun(confirming, functools.partial(self._take_confirmation, name))
        run.start()
        return run

    def _contenders(self, name: str) -> tuple[SweepRecord, ...]:
        axis = self._payload_axis
        return choose_contenders([r for r in self.records if axis is None or r.values[axis] == name])

    def _confirming(self, name: str, **options: Any) -> Confirming:
        contenders = self._contenders(name)
        log = ConfirmationLog(log_path(self.store_path)) if contenders else None
        try:
            return Confirming(
                self._payloads[name], self.schedule, contenders, options=self._options, log=log, **options
            )
        except BaseException:
            if log is not None:
                log.close()
            raise

    def _take_confirmation(self, name: str, found: Confirmation) -> None:
        self.confirmations[name] = found
        self.confirming_failure = None
        if self._payload_axis is None:
            self._winner = next(r for r in self.records if r.key == found.leader_key)
        if found.end == "decided" and found.verdict.winner is not None and len(found.verdict.standings) > 1:
            self._keep_winner(name, found)

    def _keep_winner(self, name: str, found: Confirmation) -> None:
        """Keep a declared winner for all payloads of the same content; see `lhkit.best`."""
        leader = found.verdict.leader
        knobs = {knob.name for knob in self.schedule.knobs}
        schedule = self.schedule.with_knobs({n: v for n, v in dict(found.knobs)[leader.name] if n in knobs})
        if name in self._contents:
            keep_winner(
                self._contents[name],
                self._payloads[name],
                schedule,
                target=code_target(self._options.target, self.schedule),
                time_ns=leader.median_ns,
                speed_ups={up.over: up.speed.middle for up in found.speed_ups},
            )

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
        how = "broke off" if self.failure else self.end or ("confirming" if self.confirming else "running")
        best = ""
        if (record := self.best) is not None:
            best = ", best " + " ".join(f"{name}={value}" for name, value in record.knobs)
            best += f" at {record.time_ns.median / 1e3:.4g} µs" if record.time_ns else ""
        name = printable(PurePath(self.schedule.source).name)
        return f"Sweep({name}: {len(progress.records)}{of} variants, {how}{best})"

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.sweeps.sweep_board import sweep_bundle

        return sweep_bundle(self)


PayloadLike = Payload | str | os.PathLike[str]


@public
def sweep(
    payload: PayloadLike | Mapping[str, PayloadLike],
    schedule: Schedule | str | os.PathLike[str],
    *,
    knobs: Mapping[str, Narrowing] | None = None,
    constraints: Sequence[Any] = (),
    strategy: str | Strategy = "grid",
    budget: int | None = None,
    store: str | os.PathLike[str] | None = None,
    on_event: OnEvent | None = None,
    start: bool = True,
    options: SweepOptions | None = None,
    **changes: Any,
) -> Sweep:
    """Try the variants of a schedule's knobs: each is compiled, verified and timed, and kept in a store.

    Where an event loop is running (in a notebook) it returns at once and the sweep goes on in the background;
    in a script it runs to the end. A variant that is in the store is not tried again, so an interrupted sweep
    resumes where it left off. Equal programs are compiled and timed once. Each is verified against the
    payload's NumPy reference, else against the unscheduled payload.

    In the end the best few and the schedule as it was given are timed again, side by side in fresh processes,
    until one wins or they are declared equal: a sweep of noisy times has a first place even among equals. These
    measurements are kept beside the store, and an interrupted confirmation resumes where it left off.

    Args:
        payload: The payload, loaded or a path; several by name make ``payload`` the first axis.
        schedule: The schedule, loaded or a path; knobs that are set keep their values unless they are narrowed.
        knobs: The values to try, by knob: lists, or texts such as ``4,8,16``, ``1..64``, ``8..256*2``.
        constraints: What a variant has to meet beside what the schedule requires: texts, functions of knobs.
        strategy: ``grid``, ``random``, ``latin-hypercube``, ``coordinate-descent``, ``tpe``, ``predicted``
            (by a cost model, in about a tenth of the time of ``grid``), or a `Strategy`.
        budget: How many variants, those that are known among them.
        store: The file of the records; without one it is the same file for the same payload and schedule.
        on_event: Called with a `SweepEvent` after every variant and at the end.
        start: Whether to begin; else the sweep begins with its method ``start``.
        options: Limits, executor, confirmation, and how variants are compiled.
        **changes: Fields of `SweepOptions` that replace those of ``options``.

    Returns:
        The sweep; live where a loop is running, else at its end.

    Raises:
        UsageError: A knob, value, constraint, strategy, option or store that cannot be used.
        LhkitError: In a script: nothing can be tried, or a record cannot be kept.
    """
    try:
        how = dataclasses.replace(options or SweepOptions(), **changes)
    except TypeError as error:
        raise usage_error(f"sweep: {error}") from None
    if how.executor not in ("local", "dask") and not how.executor.startswith("dask:"):
        raise usage_error(f"there is no executor {how.executor!r}", "There are local, dask and dask:ADDRESS.")
    axis = PAYLOAD_AXIS if isinstance(payload, Mapping) else None
    given = payload if isinstance(payload, Mapping) else {"": payload}
    payloads = {name: as_payload(each, how.worker) for name, each in given.items()}
    loaded = as_schedule(schedule, how.worker, target=how.target)
    either = payloads if axis else payloads[""]
    space = space_of(loaded, knobs=knobs, constraints=constraints, payload=either, function=how.function)
    make, is_all = None, strategy == "grid"
    if isinstance(strategy, str):
        make = functools.partial(make_strategy, strategy, space, seed=how.seed, budget=budget)
        strategy = make()
    path = Path(store) if store is not None else default_store(payloads, loaded)
    count = space.count()
    if count.is_exact:
        budget = int(count) if budget is None else min(budget, int(count))
    is_cut = isinstance(strategy, Predicted) or (make and not is_all and (budget or 0) >= LEAST_VARIANTS)
    if is_cut and how.cut is None:
        how = dataclasses.replace(how, cut=Predicted.cut)
    found = Sweep(payloads, axis, loaded, space, strategy, how, path, budget)
    found._make_strategy = make
    if on_event is not None:
        found.subscribe(on_event)
    if start:
        found.start()
    return found
