"""Dask executor: tries variants on the machines of one kind of a Dask cluster, one at a time per set of cores.

A machine whose cores are free takes the next variant. Where the strategy does not wait for answers, it takes as
many as take about a second, and is sent the next ones while it tries these. What it has not begun after a
second it gives back, so that none waits behind a slow one. Where some machines are reserved for timing, the
others of their kind compile for them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import itertools
import time
import uuid
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lhkit.sweeps.dask_cluster import DaskCluster, LostError
from lhkit.sweeps.dask_host import (
    BATCH_SECONDS,
    Answer,
    Answers,
    Asked,
    Setup,
    compile_here,
    pack_programs,
    try_here,
    write_places,
)
from lhkit.sweeps.engine import CompiledVariant, Programs, Trial
from lhkit.sweeps.machine_pool import Machine, MachinePool
from lhkit.sweeps.sweep_task import Subject, Variant, sha256_of
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import VariantDescription
from lhkit.worker.limits import Limits
from lhkit.worker.requests import LoadOps

_MOST_LOSSES = 3
# With each variant a machine is told of so many programs that others tried since: the rest follows.
_MOST_NEWS = 256
# As long as it is not known how many take a second; a machine gives back what it has not begun by then.
_FIRST = 4
_MOST_AT_A_TIME = 16
# For each machine: one that it tries, one that it was sent ahead, and one that is there when that is due.
_BATCHES = 3
# A machine that has so much left of a batch is sent the next one; without one, it is looked for again.
_LEFT_SECONDS = 0.5
_AGAIN_SECONDS = 0.1
# The share that the latest call has in what a variant is expected to take.
_LATEST = 0.1

_Answered: TypeAlias = "asyncio.Future[Trial | CompiledVariant | None]"


class DaskSweep:
    """A sweep on a cluster: the connection and the machines, with an executor for each kind of them."""

    def __init__(
        self,
        address: str | None,
        limits: Limits,
        *,
        preparation: tuple[LoadOps, ...] = (),
        describe: Callable[[Worker], Mapping[str, Any]],
        here: Mapping[str, Any],
    ) -> None:
        """Connect, and look at the machines; ``here`` are the facts that ``describe`` returns of this one."""
        self.setup = Setup(uuid.uuid4().hex, preparation, describe, limits)
        self.cluster = DaskCluster(address)
        # Some hundred variants a second leave much behind: only that is looked through for garbage.
        self._has_frozen = gc.get_freeze_count() == 0
        if self._has_frozen:
            gc.freeze()
        try:
            self.pool = MachinePool(self.cluster, self.setup, here)
        except BaseException:
            self.end()
            raise
        self.kinds = self.pool.kinds()
        self.is_like_here = self.kinds[0] == sha256_of(here)
        self._open: set[str] = set()

    def executor(self, environment: str, *, batched: int = 0) -> DaskExecutor:
        """Return what tries variants on machines of a kind, so many of them in batches of about a second."""
        self._open.add(environment)
        return DaskExecutor(self, environment, batched=batched)

    async def close(self, environment: str) -> None:
        """End what runs for a kind; with the last one lhkit's workers, and the cluster if it is its own."""
        self._open.discard(environment)
        if not self._open:
            await self.pool.close()
            await asyncio.to_thread(self.end)

    def end(self) -> None:
        """End all of it, and wait for that."""
        if self._has_frozen:
            self._has_frozen = False
            gc.unfreeze()
        self.cluster.leave(self.setup.sweep)
        self.cluster.close()


class DaskExecutor:
    """Tries variants on the machines of a kind."""

    def __init__(self, sweep: DaskSweep, environment: str, *, batched: int = 0) -> None:
        self._sweep, self.environment = sweep, environment
        self._bringing = asyncio.Lock()
        self._compiling = _Line(self, sweep.pool.acquire_to_compile, compile_here)
        self._trying = _Line(self, sweep.pool.acquire, try_here, batched=batched)

    @property
    def capacity(self) -> int:
        """The number of variants that are tried at a time."""
        return self._sweep.pool.capacity(self.environment)

    @property
    def depth(self) -> int:
        """The number of variants that it is given at a time: those that machines try, and those that wait."""
        return self.capacity * (1 if self._sweep.pool.compiling(self.environment) else self._trying.depth)

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant, compiled on another machine where some do that; see `Executor.try_variant`."""
        started, compiled = time.perf_counter_ns(), None
        if self._sweep.pool.compiling(self.environment):
            compiled = await self._compiling.answer(variant, best_ns, known)
        if isinstance(compiled, Trial):
            return compiled
        code = b"" if compiled is None else compiled.code
        trial = await self._trying.answer(variant, best_ns, known, code)
        if not isinstance(trial, Trial):
            raise TypeError("a variant was compiled where it was to be tried")
        if compiled is None:
            return trial
        spent = Counter(trial.spent_ns) + Counter(compiled.spent_ns)
        spent["wait"] += max(time.perf_counter_ns() - started - spent.total(), 0)
        took = sum(compiled.spent_ns.values())
        return dataclasses.replace(trial, spent_ns=spent, compile_ns=trial.compile_ns and took)

    async def ask(
        self, machine: Machine, batch: Sequence[_Waiting], function: Callable[..., Any]
    ) -> Sequence[Answer]:
        """Call a function on a machine with variants of one payload, which is brought there before."""
        cluster, setup, subject = self._sweep.cluster, self._sweep.setup, batch[0].variant.subject
        scope, known = subject.scope, batch[0].known
        if scope not in machine.holds and not await self._bring(subject, machine):
            return [Answer()]
        news, told = None, machine.told[scope]
        if known is not None:
            programs = list(itertools.islice(known, told, told + _MOST_NEWS))
            news = pack_programs(programs)
            machine.told[scope] = told + len(programs)
        codes = tuple(each.code for each in batch) if any(each.code for each in batch) else ()
        values = tuple(dict(each.variant.values) for each in batch)
        asked = Asked(setup.sweep, scope, cluster.key_of(subject), values, news, batch[-1].best_ns, codes)
        answers: Answers = await cluster.call(machine.address, function, asked)
        return answers.each

    async def _bring(self, subject: Subject, machine: Machine) -> bool:
        """Have a payload on all machines at once, as a scheduler copies for one call after the other."""
        async with self._bringing:
            if subject.scope not in machine.holds:
                pool = self._sweep.pool
                those = (*pool.of_kind(self.environment), *pool.compiling(self.environment))
                without = {m.address: m for m in those}
                without = {a: m for a, m in without.items() if subject.scope not in m.holds}
                without[machine.address] = machine
                for address in await self._sweep.cluster.bring(subject, without):
                    without[address].holds.add(subject.scope)
        return subject.scope in machine.holds

    @property
    def pool(self) -> MachinePool:
        """The machines of the cluster."""
        return self._sweep.pool

    async def describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        """Describe nothing: the schedule is applied where variants are tried; see `Executor.describe`."""
        return [None] * len(variants)

    async def close(self) -> None:
        """End what is running; see `DaskSweep.close`."""
        await self._compiling.close()
        await self._trying.close()
        await self._sweep.close(self.environment)


@dataclass(eq=False, slots=True)
class _Waiting:
    """A variant that waits for a machine, or for its answer."""

    variant: Variant
    best_ns: float | None
    known: Programs
    code: bytes
    answered: _Answered
    losses: int = 0

    def joins(self, other: _Waiting) -> bool:
        """Return whether it may be in one batch with another: what may have ended a machine goes alone."""
        alike = self.variant.subject is other.variant.subject and (self.known is None) == (other.known is None)
        return alike and not self.losses and not other.losses


@dataclass(eq=False, slots=True)
class _Call:
    """A batch that was sent to a machine: whether that has begun it, as far as is known, and has answered."""

    batch: list[_Waiting]
    is_begun: bool
    is_answered: bool = False
    asking: asyncio.Task[None] = field(init=False)


class _Line:
    """Variants that wait for machines that do one thing with them: they are tried, or compiled."""

    def __init__(
        self,
        executor: DaskExecutor,
        acquire: Callable[[str], Awaitable[Machine | None]],
        function: Callable[..., Any],
        *,
        batched: int = 0,
    ) -> None:
        self._executor, self._acquire, self._function = executor, acquire, function
        self._is_batched, self._coming = batched > 0, batched
        self._waiting: deque[_Waiting] = deque()
        self._asking: set[asyncio.Task[Any]] = set()
        self._serving: asyncio.Task[None] | None = None
        self._each_ns: float | None = None  # what a variant took on its machine of late

    @property
    def depth(self) -> int:
        """The number of variants that a machine tries, or that wait for it, at a time."""
        return self._most() * (_BATCHES if self._is_batched else 1)

    def _most(self) -> int:
        """Return how many variants a machine takes at a time."""
        if not self._is_batched:
            return 1
        machines = self._executor.pool.capacity(self._executor.environment)
        left = max(self._coming, 0) + len(self._waiting)
        share = max(-(-left // machines), 1)  # smaller ones near the end: all end at about the same time
        many = _FIRST if self._each_ns is None else max(round(BATCH_SECONDS * 1e9 / self._each_ns), 1)
        return min(many, _MOST_AT_A_TIME, share)

    async def answer(
        self, variant: Variant, best_ns: float | None, known: Programs, code: bytes = b""
    ) -> Trial | CompiledVariant | None:
        """Wait for the answer of a machine, of the next one if it is lost; None: there is none for this."""
        self._coming -= 1
        waiting = _Waiting(variant, best_ns, known, code, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.ensure_future(self._serve())
        return await waiting.answered

    async def _serve(self) -> None:
        """Give machines something to do while something waits."""
        try:
            while self._waiting:
                if (machine := await self._acquire(self._executor.environment)) is None:
                    while self._waiting:
                        _answer(self._waiting.popleft().answered, None)
                elif batch := self._next():
                    self._note(asyncio.ensure_future(self._keep_busy(machine, batch)))
                else:
                    await self._executor.pool.release(machine)
        except Exception as error:  # noqa: BLE001 - those that wait get it
            while self._waiting:
                _fail(self._waiting.popleft().answered, error)

    def _note(self, asking: asyncio.Task[Any]) -> None:
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)

    def _next(self) -> list[_Waiting]:
        """Return what a machine takes: a batch, or less where other machines are free for the rest."""
        free = self._executor.pool.count_free(self._executor.environment) + 1 if self._is_batched else 1
        most, batch = min(self._most(), -(-len(self._waiting) // free)), list[_Waiting]()
        while self._waiting and len(batch) < most and (not batch or self._waiting[0].joins(batch[0])):
            if not (waiting := self._waiting.popleft()).answered.done():
                batch.append(waiting)
        return batch

    async def _keep_busy(self, machine: Machine, batch: list[_Waiting]) -> None:
        """Ask a machine that was taken, and again before it has ended, while that is due; then release it."""
        pool, is_due = self._executor.pool, self._is_batched
        calls = [self._begin(machine, batch, is_begun=True)]
        try:
            while calls:
                timeout = self._ahead_seconds(calls[0]) if is_due and len(calls) == 1 else None
                asking = [call.asking for call in calls]
                await asyncio.wait(asking, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if calls[0].asking.done():
                    is_due = calls.pop(0).is_answered and self._is_batched
                    for following in calls:
                        following.is_begun = is_due
                elif calls[-1].asking.done():  # it gave back what waited behind a slow one
                    calls.pop()
                    is_due = False
                elif pool.may_stay_taken(machine) and (more := self._next()):
                    calls.append(self._begin(machine, more))
        finally:
            await pool.release(machine)

    def _ahead_seconds(self, call: _Call) -> float:
        """Return after how long the next batch is due, or is looked for again."""
        expected = BATCH_SECONDS if self._each_ns is None else len(call.batch) * self._each_ns / 1e9
        return max(min(expected, BATCH_SECONDS) - _LEFT_SECONDS, _AGAIN_SECONDS)

    def _begin(self, machine: Machine, batch: list[_Waiting], *, is_begun: bool = False) -> _Call:
        call = _Call(batch, is_begun)
        call.asking = asyncio.ensure_future(self._ask(machine, call))
        self._note(call.asking)
        return call

    async def _ask(self, machine: Machine, call: _Call) -> None:
        executor = self._executor
        try:
            self._take(machine, call.batch, await executor.ask(machine, call.batch, self._function))
            call.is_answered = True
        except LostError as error:
            executor.pool.lose(machine)
            self._again(call.batch, losses=call.is_begun and not error.is_cluster)
        except Exception as error:  # noqa: BLE001 - those that wait get it
            for waiting in call.batch:
                _fail(waiting.answered, error)

    def _take(self, machine: Machine, batch: Sequence[_Waiting], answers: Sequence[Answer]) -> None:
        """Hand answers out; what has none waits again."""
        pool, again, tried = self._executor.pool, list[_Waiting](), set[str | None]()
        spent = sum(sum(answer.trial.spent_ns.values()) for answer in answers if answer.trial is not None)
        if spent:
            latest = spent / len(answers)
            self._each_ns = latest + (1 - _LATEST) * ((self._each_ns or latest) - latest)
        for waiting, answer in zip(batch, answers, strict=False):
            trial = answer.trial
            program = None if trial is None else trial.ir_sha256
            is_new = program not in tried and program not in (waiting.known or ())
            if answer.failure is not None:
                again.append(waiting)
                pool.refuse(machine, answer.failure)
            elif answer.compiled is not None:
                _answer(waiting.answered, answer.compiled)
            elif trial is None:
                again.append(waiting)
                pool.lose(machine)
            elif trial.status == "same" and is_new:
                waiting.known = None  # it was tried there, but its record has not reached the sweep
                again.append(waiting)
            else:
                machine.tried += 1
                tried.add(program)  # its record is there before that of a later one of the batch
                _answer(waiting.answered, _compared(waiting.variant, answer, trial))
        self._again([*again, *batch[len(answers) :]])

    def _again(self, batch: Sequence[_Waiting], *, losses: bool = False) -> None:
        for waiting in reversed(batch):
            waiting.losses += losses
            if waiting.losses < _MOST_LOSSES:
                self._waiting.appendleft(waiting)
            else:
                _answer(
                    waiting.answered,
                    Trial("crashed", f"Dask lost every worker that tried it: {waiting.losses}"),
                )
        if self._waiting and (self._serving is None or self._serving.done()):
            self._serving = asyncio.ensure_future(self._serve())

    async def close(self) -> None:
        """End what is asked, and what waits."""
        running = [*self._asking, *([] if self._serving is None else [self._serving])]
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _answer(answered: _Answered, answer: Trial | CompiledVariant | None) -> None:
    if not answered.done():  # else nothing waits for it any more
        answered.set_result(answer)


def _fail(answered: _Answered, error: Exception) -> None:
    if not answered.done():
        answered.set_exception(error)


def _compared(variant: Variant, answer: Answer, trial: Trial) -> Trial:
    """Return a trial whose wrong result, if it has one, was compared with the reference."""
    if trial.status != "wrong-result":
        return trial
    write_places(variant.subject, answer.results)
    return dataclasses.replace(trial, message=variant.subject.difference(answer.shapes))
