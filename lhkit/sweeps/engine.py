"""Engine of sweeps: asks a strategy for points, has an executor try the variants, and appends their records."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import functools
import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar, cast

from msgspec import structs

from lhkit.load.target_choice import code_vector_bits
from lhkit.model.errors import LhkitError
from lhkit.sweeps.confirmation import ConfirmingEvent
from lhkit.sweeps.record_store import Store
from lhkit.sweeps.space import Point
from lhkit.sweeps.strategies.strategy import DescribedStrategy, Strategy
from lhkit.sweeps.sweep_task import Subject, Task, Variant
from lhkit.sweeps.variant_record import SCHEMA, SweepEnd, SweepRecord, SweepStatus, SweepTime
from lhkit.worker.client import Worker
from lhkit.worker.framing import Progress
from lhkit.worker.kernel_requests import (
    CompileVariant,
    DescribeVariants,
    PrepareSweep,
    ReleaseSweep,
    TryVariant,
    VariantAnswer,
    VariantCode,
    VariantDescription,
)
from lhkit.worker.limits import Limits
from lhkit.worker.process_groups import PauseGuard
from lhkit.worker.requests import Request
from lhkit.worker.worker_process import was_killed

# Hashes of programs that need not be tried again; None: every one is tried.
Programs = Collection[str] | None
TrialStatus = SweepStatus | Literal["same"]

_NUMBERS = itertools.count()
_RELEASE_LIMITS = Limits(seconds=1.0)


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of one trial of a variant; status ``same``: its program was tried before."""

    status: TrialStatus
    message: str | None = None
    time_ns: SweepTime | None = None
    compile_ns: int | None = None
    max_abs_error: float | None = None
    ir_sha256: str | None = None
    spent_ns: Mapping[str, int] = field(default_factory=dict)
    short_ns: int | None = None


@dataclass(frozen=True, slots=True)
class CompiledVariant:
    """A variant that another process tries; ``code`` is empty if it has to be compiled there."""

    code: bytes
    spent_ns: Mapping[str, int]


_Answered = TypeVar("_Answered", VariantAnswer, VariantCode)


class Executor(Protocol):
    """Tries variants."""

    @property
    def capacity(self) -> int:
        """The number of variants that it tries at a time."""

    @property
    def depth(self) -> int:
        """The number of variants that it is given at a time: those it tries, and those that wait for it."""

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant.

        Args:
            variant: The variant.
            best_ns: Median time of the best variant of its payload so far; one much slower is stopped early.
            known: Hashes of the programs of its payload that need not be tried again; None: try every one.
        """

    async def describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        """Return what is known of variants before they are lowered; None where nothing is."""

    async def close(self) -> None:
        """End, within a moment, what it is doing."""


class LocalExecutor:
    """Tries variants one after the other in a worker process of this machine."""

    capacity = depth = 1

    def __init__(
        self, worker: Worker, limits: Limits, *, done_with: Callable[[Worker], None] | None = Worker.close
    ) -> None:
        """Take a worker; ``done_with`` is called with it in the end, None leaves it as it is."""
        self._worker, self._limits = worker, limits
        self._done_with = done_with
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lhkit-sweep")
        self._names: dict[str, tuple[str, int]] = {}
        # Of each name: the programs that the process has been told of or has tried.
        self._told: dict[str, set[str]] = {}
        self._is_busy = self._is_closed = False
        # Called in its thread with each stage of a variant, and with an empty one at its end.
        self.at_stage: Callable[[str], None] = lambda _stage: None

    async def try_variant(
        self, variant: Variant, best_ns: float | None, known: Programs, code: bytes = b""
    ) -> Trial:
        """Try a variant, with ``code`` one that another process compiled; see `Executor.try_variant`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._try, variant, best_ns, known, code)

    async def compile_variant(self, variant: Variant, known: Programs) -> CompiledVariant | Trial:
        """Compile a variant for another process to try, which is given the code; a trial if there is none."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._compile, variant, known)

    async def describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        """Apply the schedule with the values of variants; see `Executor.describe`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._describe, variants)

    def _describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        with self._busy():
            return self._describe_now(variants)

    def _describe_now(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        subjects = {v.subject.scope: v.subject for v in variants}
        found: dict[str, VariantDescription | None] = {}
        for scope, subject in subjects.items():
            own = [v for v in variants if v.subject.scope == scope]
            vector_bytes = code_vector_bits(subject.preparation.spec.target) // 8
            for first in range(0, len(own), _DESCRIBED_AT_A_TIME):
                group = own[first : first + _DESCRIBED_AT_A_TIME]
                request = DescribeVariants(
                    self._ready(subject, None), tuple(v.values for v in group), vector_bytes
                )
                before = functools.partial(_preparations, subject, request.sweep, None)
                try:
                    answer = self._worker.ask(request, limits=self._limits, before=before)
                except LhkitError as error:
                    if error.failure.request == "start" or error.failure.kind == "cancelled":
                        raise
                    continue  # one of them ends the process: what they are is found out one by one
                found.update(zip((v.key for v in group), answer.variants, strict=False))
        return [found.get(v.key) for v in variants]

    def pause(self, guard: PauseGuard) -> None:
        """Stop its process until `resume`."""
        self._worker.pause(guard)

    def resume(self, guard: PauseGuard) -> None:
        """Have its process go on."""
        self._worker.resume(guard)

    async def close(self) -> None:
        """End the request that is running, with the process, and be done with a worker that is idle."""
        was_busy, was_closed, self._is_closed = self._is_busy, self._is_closed, True
        if was_busy:
            self._worker.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._done_with is None or was_closed:
            return
        if was_busy:
            self._worker.close()
        else:
            await asyncio.to_thread(self._leave, self._done_with)

    def _leave(self, done_with: Callable[[Worker], None]) -> None:
        with contextlib.suppress(LhkitError):
            for name, generation in self._names.values():
                if self._worker.pid is not None and generation == self._worker.generation:
                    self._worker.ask(ReleaseSweep(name), limits=_RELEASE_LIMITS)
        done_with(self._worker)

    def _try(self, variant: Variant, best_ns: float | None, known: Programs, code: bytes) -> Trial:
        def request(name: str, learned: tuple[str, ...]) -> TryVariant:
            return TryVariant(name, variant.values, best_ns, known is not None, learned, code)

        name, answer = self._ask(variant, known, request)
        if isinstance(answer, Trial):
            return answer
        self._told[name].add(answer.ir_sha256)
        return Trial(
            cast("TrialStatus", answer.status),  # it is not ``gone`` here
            variant.subject.difference(answer.shapes) if answer.status == "wrong-result" else None,
            None if answer.time_ns is None else SweepTime(**answer.time_ns),
            answer.compile_ns,
            answer.max_abs_error,
            answer.ir_sha256,
            answer.spent_ns,
            answer.short_ns,
        )

    def _compile(self, variant: Variant, known: Programs) -> CompiledVariant | Trial:
        def request(name: str, learned: tuple[str, ...]) -> CompileVariant:
            return CompileVariant(name, variant.values, known is not None, learned)

        _, answer = self._ask(variant, known, request)
        if isinstance(answer, Trial):
            return answer
        if answer.status == "same":
            return Trial("same", ir_sha256=answer.ir_sha256, spent_ns=answer.spent_ns)
        return CompiledVariant(answer.code, answer.spent_ns)

    def _ask(
        self, variant: Variant, known: Programs, request: Callable[[str, tuple[str, ...]], Request[_Answered]]
    ) -> tuple[str, _Answered | Trial]:
        """Return the name of a payload and the answer to a request about a variant, or how that failed."""
        with self._busy():
            return self._ask_now(variant, known, request)

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        self._is_busy = True
        try:
            yield
        finally:
            self.at_stage("")
            self._is_busy = False
            if self._is_closed and self._done_with is not None:  # closed while the process was starting
                self._worker.close()

    def _ask_now(
        self, variant: Variant, known: Programs, request: Callable[[str, tuple[str, ...]], Request[_Answered]]
    ) -> tuple[str, _Answered | Trial]:
        subject = variant.subject
        notes: list[Progress] = []
        is_again = False

        def take(note: Progress) -> None:
            notes.append(note)
            self.at_stage(note.stage)

        if subject.refuse is not None:
            try:
                subject.refuse(variant.values, self._worker, self._limits)
            except LhkitError as error:
                return "", Trial(error.failure.reaction.variant, error.failure.in_a_line())
        while True:
            name = self._ready(subject, known)
            before = functools.partial(_preparations, subject, name, known)
            asked = request(name, self._new_programs(name, known))
            try:
                answer = self._worker.ask(asked, limits=self._limits, before=before, on_progress=take)
            except LhkitError as error:
                if error.failure.request == "start":
                    raise
                if was_killed(error.failure) and not is_again:
                    is_again = True
                    continue
                program = next((n.ir_sha256 for n in reversed(notes) if n.ir_sha256), None)
                return name, Trial(error.failure.reaction.variant, error.failure.in_a_line(), ir_sha256=program)
            if answer.status != "gone":
                return name, answer
            del self._names[subject.scope]  # the process was replaced

    def _ready(self, subject: Subject, known: Programs) -> str:
        """Return what the worker calls a payload, once it is ready for it."""
        name, generation = self._names.get(subject.scope, ("", -1))
        if generation != self._worker.generation:
            name = f"{subject.scope[:12]}-{next(_NUMBERS)}"
            self._worker.ask(*_preparations(subject, name, known))
            self._names[subject.scope] = (name, self._worker.generation)
            self._told[name] = set(known or ())
        return name

    def _new_programs(self, name: str, known: Programs) -> tuple[str, ...]:
        """Return the programs that other workers tried since."""
        told = self._told[name]
        if known is None or len(known) <= len(told):  # most often
            return ()
        news = tuple(program for program in known if program not in told)
        told.update(news)
        return news


def _preparations(subject: Subject, name: str, known: Programs) -> tuple[PrepareSweep]:
    """Return the request that makes a process ready."""
    return (structs.replace(subject.preparation, sweep=name, known=tuple(known or ())),)


# A variant that runs at the stop may still finish within this time.
_GRACE_SECONDS = 0.2
# Others of the event loop have their turn after so many variants.
_AT_A_TIME = 64
# The phases of a variant in the worker; the remaining time is the engine's.
WORKER_PARTS = ("describe", "apply", "compile", "wait", "verify", "time")
_DESCRIBED_AT_A_TIME = 16


@dataclass(frozen=True, slots=True)
class SweepEvent:
    """A variant that is done, or without a record a step of the confirmation or the end of the sweep."""

    record: SweepRecord | None
    is_known: bool
    done: int
    total: int | None
    best: SweepRecord | None
    end: SweepEnd | None = None
    confirming: ConfirmingEvent | None = None


@dataclass(slots=True)
class SweepProgress:
    """Progress of a sweep; ``spent_ns`` is by part: those of the worker, and ``engine`` for all else."""

    records: list[SweepRecord] = field(default_factory=list)
    known: int = 0
    best: SweepRecord | None = None
    spent_ns: Counter[str] = field(default_factory=Counter)
    end: SweepEnd | None = None
    described: int = 0


OnEvent = Callable[[SweepEvent], None]


@dataclass(slots=True)
class SweepRun:
    """A run over the points of a strategy; programs and best variants are by scope of their payload."""

    task: Task
    strategy: Strategy
    store: Store
    executor: Executor
    progress: SweepProgress
    total: int | None = None
    on_event: OnEvent | None = None
    found: dict[str, SweepRecord] = field(default_factory=dict)
    programs: defaultdict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    best: dict[str, SweepRecord] = field(default_factory=dict)
    trying: dict[asyncio.Task[Trial], tuple[Variant, str]] = field(default_factory=dict)
    # Trials that have ended since the last look: `asyncio.wait` would look at a thousand that have not.
    ended: list[asyncio.Task[Trial]] = field(default_factory=list)
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    described: DescribedStrategy | None = field(init=False)

    def __post_init__(self) -> None:
        """Find out once whether the strategy looks at variants before they are lowered."""
        self.described = self.strategy if isinstance(self.strategy, DescribedStrategy) else None

    async def run(self, stop: asyncio.Event, *, seconds: float | None = None, resume: bool = True) -> None:
        """Try points until there are no more, the time is up, or it is stopped.

        What the store knows is not tried again. Each record is in the store before the next variant is begun.
        """
        started, progress = time.perf_counter_ns(), self.progress
        deadline = None if seconds is None else time.monotonic() + seconds
        if resume:
            for record in self.store.records():
                if record.environment == self.task.environment and self.task.scope_of(record) is not None:
                    self._learn(record)
        try:
            progress.end = await self._try_all(stop, deadline)
        finally:
            await self._end()
            in_worker = sum(progress.spent_ns[part] for part in WORKER_PARTS)
            in_worker //= self.executor.capacity
            progress.spent_ns["engine"] = max(time.perf_counter_ns() - started - in_worker, 0)

    async def _try_all(self, stop: asyncio.Event, deadline: float | None) -> SweepEnd:
        stopping = asyncio.ensure_future(stop.wait())
        stopping.add_done_callback(lambda _: self.woken.set())
        try:
            while not stop.is_set() and (deadline is None or time.monotonic() < deadline):
                await self._fill(stop)
                if not self.trying:
                    return "stopped" if stop.is_set() else "finished"
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()):
                        await self.woken.wait()
                self.woken.clear()
                self._collect()
            if self.trying:
                await asyncio.wait(self.trying, timeout=_GRACE_SECONDS)
                await asyncio.sleep(0)  # those that had ended before are noted by then
                self._collect()
            return "stopped" if stop.is_set() else "out of time"
        finally:
            stopping.cancel()

    async def _end(self) -> None:
        """End what is still running; it leaves no record."""
        waiting = [trial for trial in self.trying if not trial.done()]
        for trial in waiting:
            trial.cancel()
        await self.executor.close()
        for trial in waiting:
            with contextlib.suppress(asyncio.CancelledError):
                await trial

    async def _fill(self, stop: asyncio.Event) -> None:
        at_once = 0
        while len(self.trying) < self.executor.depth and not stop.is_set():
            await self._describe()
            point = self.strategy.ask()
            if point is None:
                return
            variant = self.task.variant(point)
            record = self.found.get(variant.key)
            if record is not None:
                self.progress.known += 1
                self._done(variant.point, record, is_known=True)
            elif variant.refusal is not None:
                self._keep(variant, Trial("invalid-config", variant.refusal), _now())
            else:
                self._try(variant)
            at_once += 1
            if at_once % _AT_A_TIME == 0:
                await asyncio.sleep(0)

    async def _describe(self) -> None:
        """Tell the strategy, if it asks for it, what variants are before they are lowered."""
        if self.described is None or not (points := self.described.to_describe()):
            return
        started = time.perf_counter_ns()
        found = await self.executor.describe([self.task.variant(point) for point in points])
        self.progress.spent_ns["describe"] += time.perf_counter_ns() - started
        self.progress.described += len(points)
        self.described.take_descriptions(points, found)
        self._collect()  # what has ended meanwhile decides too

    def _try(self, variant: Variant) -> None:
        scope = variant.subject.scope
        best = self.best.get(scope)
        best_ns = None if best is None or best.time_ns is None else float(best.time_ns.median)
        known = self.programs[scope].keys() if self.task.deduplicate else None
        trial = asyncio.ensure_future(self.executor.try_variant(variant, best_ns, known))
        self.trying[trial] = (variant, _now())
        trial.add_done_callback(self._note_end)

    def _note_end(self, trial: asyncio.Task[Trial]) -> None:
        self.ended.append(trial)
        self.woken.set()

    def _collect(self) -> None:
        ended, self.ended = self.ended, []
        for trial in ended:
            variant, started = self.trying.pop(trial)
            self._keep(variant, trial.result(), started)

    def _keep(self, variant: Variant, trial: Trial, started: str) -> None:
        first = None
        if trial.status == "same" and trial.ir_sha256 is not None:
            first = self.programs[variant.subject.scope][trial.ir_sha256]
        flops, times = variant.subject.flops, trial.time_ns
        record = SweepRecord(
            schema=SCHEMA,
            key=variant.key,
            knobs=variant.recorded,
            status="same-as" if trial.status == "same" else trial.status,
            message=trial.message,
            same_as=first,
            time_ns=times,
            compile_ns=trial.compile_ns,
            gflops=None if flops is None or times is None else round(flops / max(times.median, 1), 4),
            max_abs_error=trial.max_abs_error,
            hot_loops=None,
            ir_sha256=trial.ir_sha256,
            environment=self.task.environment,
            started=started,
        )
        self.store.append(record)
        self.progress.spent_ns.update(trial.spent_ns)
        self._learn(record)
        self._done(variant.point, record, is_known=False)

    def _learn(self, record: SweepRecord) -> None:
        """Take note of a record for the variants to come."""
        self.found[record.key] = record
        scope = self.task.scope_of(record)
        if scope is None:
            return
        if record.ir_sha256 is not None and record.same_as is None:
            self.programs[scope].setdefault(record.ir_sha256, record.key)
        if (best := _better(self.best.get(scope), record)) is not None:
            self.best[scope] = best

    def _done(self, point: Point, record: SweepRecord, *, is_known: bool) -> None:
        progress = self.progress
        progress.records.append(record)
        tried = record if record.same_as is None else self.found.get(record.same_as, record)
        cost = tried.time_ns.median if tried.time_ns is not None else None
        self.strategy.tell(point, cost)
        progress.best = _better(progress.best, record)
        if self.on_event is not None:
            done = len(progress.records)
            self.on_event(SweepEvent(record, is_known, done, self.total, progress.best))


def _better(best: SweepRecord | None, record: SweepRecord) -> SweepRecord | None:
    """Return the faster one; None: no variant was timed yet."""
    if record.status != "ok" or record.time_ns is None:
        return best
    is_best = best is None or best.time_ns is None or record.time_ns.median < best.time_ns.median
    return record if is_best else best


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
