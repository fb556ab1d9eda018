"""Dask executor: tries variants on the machines of one kind of a Dask cluster, one at a time per set of cores.

A machine whose cores are free takes the next single variant, so that none waits behind a slow one. Where some
machines are reserved for timing, the others of their kind compile for them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from lhkit.sweeps.dask_cluster import DaskCluster, LostError
from lhkit.sweeps.dask_host import Answer, Asked, Setup, compile_here, pack_programs, try_here, write_places
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
        try:
            self.pool = MachinePool(self.cluster, self.setup, here)
        except BaseException:
            self.end()
            raise
        self.kinds = self.pool.kinds()
        self.is_like_here = self.kinds[0] == sha256_of(here)
        self._open: set[str] = set()

    def executor(self, environment: str) -> DaskExecutor:
        """Return what tries variants on the machines of a kind."""
        self._open.add(environment)
        return DaskExecutor(self, environment)

    async def close(self, environment: str) -> None:
        """End what runs for a kind; with the last one lhkit's workers, and the cluster if it is its own."""
        self._open.discard(environment)
        if not self._open:
            await self.pool.close()
            await asyncio.to_thread(self.end)

    def end(self) -> None:
        """End all of it, and wait for that."""
        self.cluster.leave(self.setup.sweep)
        self.cluster.close()


class DaskExecutor:
    """Tries variants on the machines of a kind."""

    def __init__(self, sweep: DaskSweep, environment: str) -> None:
        self._sweep, self.environment = sweep, environment
        self._bringing = asyncio.Lock()

    @property
    def capacity(self) -> int:
        """The number of variants that it tries at a time."""
        return self._sweep.pool.capacity(self.environment)

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant, compiled on another machine where some do that; see `Executor.try_variant`."""
        pool, started = self._sweep.pool, time.perf_counter_ns()
        compiled = await self._on_machines(pool.acquire_to_compile, variant, known, compile_here)
        if isinstance(compiled, Trial):
            return compiled
        code = b"" if compiled is None else compiled.code
        trial = await self._on_machines(pool.acquire, variant, known, try_here, best_ns, code)
        if not isinstance(trial, Trial):
            raise TypeError("a variant was compiled where it was to be tried")
        if compiled is None:
            return trial
        spent = Counter(trial.spent_ns) + Counter(compiled.spent_ns)
        spent["wait"] += max(time.perf_counter_ns() - started - spent.total(), 0)
        took = sum(compiled.spent_ns.values())
        return dataclasses.replace(trial, spent_ns=spent, compile_ns=trial.compile_ns and took)

    async def _on_machines(
        self,
        acquire: Callable[[str], Awaitable[Machine | None]],
        variant: Variant,
        known: Programs,
        function: Callable[..., Any],
        *arguments: object,
    ) -> Trial | CompiledVariant | None:
        """Call a function on a machine, on the next one if it is lost; None if there is no machine for it."""
        pool, losses = self._sweep.pool, 0
        while losses < _MOST_LOSSES:
            if (machine := await acquire(self.environment)) is None:
                return None
            try:
                answer = await self._ask(machine, variant, known, function, *arguments)
            except LostError as error:
                pool.lose(machine)
                losses += not error.is_cluster
                continue
            finally:
                await pool.release(machine)
            if answer.failure is not None:
                pool.refuse(machine, answer.failure)
            elif answer.compiled is not None:
                return answer.compiled
            elif answer.trial is None:
                pool.lose(machine)
            elif answer.trial.status == "same" and answer.trial.ir_sha256 not in (known or ()):
                known = None  # it was tried there, but its record has not reached the sweep
            else:
                machine.tried += 1
                return _compared(variant, answer, answer.trial)
        return Trial("crashed", f"Dask lost every worker that tried it: {losses}")

    async def _ask(
        self,
        machine: Machine,
        variant: Variant,
        known: Programs,
        function: Callable[..., Any],
        *arguments: object,
    ) -> Answer:
        cluster, setup, scope = self._sweep.cluster, self._sweep.setup, variant.subject.scope
        if scope not in machine.holds and not await self._bring(variant.subject, machine):
            return Answer()
        news, told = None, machine.told[scope]
        if known is not None:
            programs = list(itertools.islice(known, told, told + _MOST_NEWS))
            news, told = pack_programs(programs), told + len(programs)
        asked = Asked(setup.sweep, scope, dict(variant.values), news)
        answer: Answer = await cluster.call(machine.address, function, asked, *arguments)
        machine.told[scope] = told
        return answer

    async def _bring(self, subject: Subject, machine: Machine) -> bool:
        """Have a payload on all machines at once, as a scheduler copies for one call after the other."""
        async with self._bringing:
            if subject.scope not in machine.holds:
                pool = self._sweep.pool
                those = (*pool.of_kind(self.environment), *pool.compiling(self.environment))
                without = {m.address: m for m in those}
                without = {a: m for a, m in without.items() if subject.scope not in m.holds}
                without[machine.address] = machine
                for address in await self._sweep.cluster.bring(self._sweep.setup, subject, without):
                    without[address].holds.add(subject.scope)
        return subject.scope in machine.holds

    async def describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        """Describe nothing: the schedule is applied where variants are tried; see `Executor.describe`."""
        return [None] * len(variants)

    async def close(self) -> None:
        """End what is running; see `DaskSweep.close`."""
        await self._sweep.close(self.environment)


def _compared(variant: Variant, answer: Answer, trial: Trial) -> Trial:
    """Return a trial; a wrong result is compared here, where the reference is."""
    if trial.status != "wrong-result":
        return trial
    write_places(variant.subject, answer.results)
    return dataclasses.replace(trial, message=variant.subject.difference(answer.shapes))
