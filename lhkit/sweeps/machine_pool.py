"""Machines of a sweep on a cluster, as they come and go: kinds, refusals, and who shares cores with whom."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lhkit.model.errors import Failure, LhkitError, error_for, usage_error
from lhkit.sweeps.core_sharing import find_core_sets, is_slower
from lhkit.sweeps.dask_cluster import IN_STORE, DaskCluster, LostError
from lhkit.sweeps.dask_host import Host, Setup, keep_busy, take_samples
from lhkit.sweeps.sweep_task import sha256_of

# A nanny starts a lost worker again within seconds; a scheduler and its workers may take longer.
_WITHOUT_WORKERS_SECONDS = 60.0
_LOOK_SECONDS = 1.0
# Samples of the interference probe alone, beside busy machines, and alone again: a drift cancels out.
_ALONE, _BESIDE = 2, 3
# With another one of these a machine is not of another kind, but does not belong to the sweep.
_TOOLCHAIN = ("bindings", "lhkit", "pipeline")
_KIND = ("cpu", "cpu model", "vector extensions")


@dataclass(eq=False)
class Machine:
    """A worker of Dask that takes part; those with the same ``cores`` take turns.

    ``told`` counts, by payload, the programs that it was told of; ``holds`` are the payloads that it has.
    """

    address: str
    host: Host
    environment: str
    cores: str
    tried: int = 0
    told: Counter[str] = field(default_factory=Counter)
    holds: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The machines of a kind: those that time, those that compile for them, and the former's sets of cores."""

    timing: Sequence[Machine]
    compiling: Sequence[Machine]
    cores: frozenset[str]


class MachinePool:
    """All machines of a cluster; see `acquire`."""

    def __init__(self, cluster: DaskCluster, setup: Setup, here: Mapping[str, Any]) -> None:
        """Look at the machines that are there.

        Raises:
            UsageError: The scheduler has another version, or all workers have.
            LhkitError: No machine can try anything; the first one's reason.
        """
        self._cluster, self._setup, self._here = cluster, setup, here
        self.machines: dict[str, Machine] = {}
        self._by_kind: dict[str, _Kind] = {}  # as long as no machine comes or goes
        self.refused: dict[str, str] = {}
        self.losses = 0
        self._sets: dict[str, str] = {}  # Of each boot of a kernel: the name of its set of cores
        self._busy: set[str] = set()
        self._is_paused = False
        self._names: dict[str, str] = {}  # Of all kinds that were ever there
        self._without_since: dict[str, float] = {}  # Of each kind that has no machine any more
        self._watching: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()
        table = cluster.other_versions()[1]
        if table is not None and "\nscheduler " in table:
            raise self._other_versions(table)
        found, failures = self._look_at(cluster.workers())
        if not found:
            raise error_for(failures[0]) if failures else self._other_versions(table)
        asyncio.run(self._take_in(found))

    @staticmethod
    def _other_versions(table: str | None) -> Exception:
        return usage_error(
            f"the Dask cluster runs other versions than this process\n{table}",
            "Start its scheduler and workers from an environment with these versions of lhkit and Python.",
        )

    def kinds(self) -> list[str]:
        """Return the environments of the machines: that of this process first, then the most frequent."""
        here = sha256_of(self._here)
        counted = Counter(m.environment for m in self.machines.values())
        return sorted(counted, key=lambda kind: (kind != here, -counted[kind], kind))

    def of_kind(self, environment: str) -> Sequence[Machine]:
        """Return the machines that time variants of a kind: those reserved for it, else all."""
        return self._kind(environment).timing

    def compiling(self, environment: str) -> Sequence[Machine]:
        """Return the machines that compile for the others of a kind: those that share no cores with them.

        There are some where others are reserved for timing, and these load what was compiled elsewhere.
        """
        return self._kind(environment).compiling

    def count_free(self, environment: str) -> int:
        """Return how many of the sets of cores are free that variants of a kind are timed on."""
        return len(self._kind(environment).cores - self._busy)

    def capacity(self, environment: str) -> int:
        """Return how many variants can be tried at once: one is timed on each set of cores.

        Where others compile for them, each compiles one, and another one waits for each set of cores.
        """
        kind = self._kind(environment)
        sets = max(len(kind.cores), 1)
        return 2 * sets + len(kind.compiling) if kind.compiling else sets

    def _kind(self, environment: str) -> _Kind:
        if (found := self._by_kind.get(environment)) is None:
            own = [m for m in self.machines.values() if m.environment == environment]
            timing = [m for m in own if m.host.is_reserved] or own
            cores = frozenset(m.cores for m in timing)
            is_split = all(m.host.is_reserved and m.host.can_load for m in timing)
            compiling = [m for m in own if m.cores not in cores] if is_split else []
            found = self._by_kind[environment] = _Kind(timing, compiling, cores)
        return found

    async def acquire_to_compile(self, environment: str) -> Machine | None:
        """Wait for a machine that compiles for others, and take it; None if there is none."""
        async with self._changed:
            while own := self.compiling(environment):
                free = [] if self._is_paused else [m for m in own if m.address not in self._busy]
                if free:
                    self._busy.add(free[0].address)
                    return free[0]
                await self._changed.wait()
        return None

    async def acquire(self, environment: str) -> Machine:
        """Wait for a machine of a kind whose cores are free, and take it.

        Raises:
            LhkitError: There has been none of that kind for too long.
        """
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._watch())
        async with self._changed:
            while True:
                if self._watching.done() and not self._watching.cancelled():
                    self._watching.result()
                since = self._without_since.get(environment)
                if since is not None and time.monotonic() - since >= _WITHOUT_WORKERS_SECONDS:
                    raise self._without_workers()
                free = () if self._is_paused else self.of_kind(environment)
                for machine in free:
                    if machine.cores not in self._busy:
                        self._busy.add(machine.cores)
                        return machine
                await self._changed.wait()

    async def release(self, machine: Machine) -> None:
        """Give a machine back."""
        async with self._changed:
            self._busy -= {machine.cores, machine.address}
            kind = self._kind(machine.environment)
            if len(kind.cores) < len(kind.timing) and self.machines.pop(machine.address, None) is machine:
                self.machines[machine.address] = machine  # the others of its cores come first
                self._by_kind.clear()
            self._changed.notify_all()

    def may_stay_taken(self, machine: Machine) -> bool:
        """Return whether a machine that was taken need not be released: nothing else waits for its cores."""
        kind, is_there = self._kind(machine.environment), self.machines.get(machine.address) is machine
        return is_there and not self._is_paused and len(kind.cores) == len(kind.timing)

    def lose(self, machine: Machine) -> None:
        """Take note that a machine is gone; if it is not, the next look takes it in again."""
        if self.machines.get(machine.address) is machine:
            del self.machines[machine.address]
            self._by_kind.clear()
            self.losses += 1
            self._note_empty()

    def refuse(self, machine: Machine, failure: Failure) -> None:
        """Leave out a machine on which nothing can be tried.

        Raises:
            LhkitError: There is no other of its kind.
        """
        self.machines.pop(machine.address, None)
        self._by_kind.clear()
        self.refused[machine.address] = failure.message
        if not self.of_kind(machine.environment):
            raise error_for(failure)

    def _without_workers(self) -> Exception:
        limit = f"{_WITHOUT_WORKERS_SECONDS:g} s"
        what = f"{self._cluster.name} lost its last worker, and none came back within {limit}"
        try:
            self._cluster.workers()
        except LostError as error:
            what = f"{self._cluster.name} is gone, and did not come back within {limit}: {error}"
        return error_for(Failure("crash", what, advice=IN_STORE))

    async def close(self) -> None:
        """End looking for machines."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await self.look()
            finally:
                async with self._changed:
                    self._changed.notify_all()

    async def look(self) -> None:
        """Take in the machines that came, and leave out those that went."""
        try:
            present = await asyncio.to_thread(self._cluster.workers)
            new = present - self.machines.keys() - self.refused.keys()
            found, _ = await asyncio.to_thread(self._look_at, new) if new else ([], [])
        except LostError:
            present, found = set(), []
        except LhkitError:  # it was lost meanwhile
            found = []
        for machine in [m for m in self.machines.values() if m.address not in present]:
            self.lose(machine)
        for address in self.refused.keys() - present:
            del self.refused[address]
        if found:
            await self._take_in(found)
        self._note_empty()

    def _note_empty(self) -> None:
        there = {m.environment for m in self.machines.values()}
        now, missing = time.monotonic(), self._names.keys() - there
        self._without_since = {kind: self._without_since.get(kind, now) for kind in missing}

    def _look_at(self, addresses: Collection[str]) -> tuple[list[Machine], list[Failure]]:
        """Return the machines at these addresses that can take part, and why others failed."""
        differing = self._cluster.other_versions()[0]
        self.refused |= {a: differing[a] for a in addresses if a in differing}
        probed = self._cluster.probe(self._setup, [a for a in addresses if a not in differing])
        failures = [host for host in probed.values() if isinstance(host, Failure)]
        found = []
        for address, host in probed.items():
            if isinstance(host, Failure):
                self.refused[address] = host.message
                continue
            others = [name for name in _TOOLCHAIN if host.facts.get(name) != self._here.get(name)]
            if others:
                said = [f"{name} {host.facts.get(name)}, here {self._here.get(name)}" for name in others]
                self.refused[address] = "; ".join(said)
                failures.append(Failure("usage", f"the Dask worker {address} has {self.refused[address]}"))
                continue
            kind = sha256_of(dict(host.facts))
            known = [str(host.facts[name]) for name in _KIND if name in host.facts]
            self._names[kind] = f"{', '.join(known) or 'machines'} ({kind[:8]})"
            found.append(Machine(address, host, kind, host.boot or address))
        return found, failures

    async def _take_in(self, found: Sequence[Machine]) -> None:
        """Add machines, once it is known with whom they share cores: nothing is timed meanwhile."""
        first = {m.cores: m for m in (*self.machines.values(), *found)}
        if not first.keys() <= self._sets.keys():
            self._is_paused = True
            try:
                async with self._changed:
                    await self._changed.wait_for(lambda: not self._busy)
                names = list(first)
                numbers = await find_core_sets(len(names), self._probe_of(list(first.values())))
                self._sets |= {name: names[numbers[i]] for i, name in enumerate(names)}
            finally:
                self._is_paused = False
        for machine in (*self.machines.values(), *found):
            machine.cores = self._sets[machine.cores]
        self.machines |= {m.address: m for m in found}
        self._by_kind.clear()
        self._note_empty()

    def _probe_of(self, machines: Sequence[Machine]) -> Any:
        async def disturbed(timing: Sequence[int], busy: Sequence[int]) -> set[int]:
            """Have some machines time the same work alone, beside others that are busy, and alone again."""
            if not timing or not busy:
                return set()
            addresses = {machines[i].address: i for i in timing}
            alone: dict[int, list[float]] = {i: [] for i in timing}
            beside: dict[int, list[float]] = {i: [] for i in timing}

            async def sample(into: dict[int, list[float]], count: int) -> None:
                for address, taken in (await self._cluster.call_all(addresses, take_samples, count)).items():
                    into[addresses[address]] += taken if isinstance(taken, list) else []  # else it is lost

            loud = [machines[i].address for i in busy]
            await sample(alone, _ALONE)
            await self._cluster.call_all(loud, keep_busy, True)
            await sample(beside, _BESIDE)
            await self._cluster.call_all(loud, keep_busy, False)
            await sample(alone, _ALONE)
            return {i for i in timing if alone[i] and beside[i] and is_slower(alone[i], beside[i])}

        return disturbed

    def name_of(self, environment: str) -> str:
        """Return what a kind of machine is called."""
        return self._names[environment]

    def lines(self) -> list[str]:
        """Return who takes part and who does not, a line each."""
        said = []
        for kind in self.kinds():
            own, sets = self.of_kind(kind), self.capacity(kind)
            workers = "1 worker" if len(own) == 1 else f"{len(own)} workers"
            turns = "" if sets == len(own) else f", which share cores and take {sets} variants at a time"
            said.append(f"{workers} on {self.name_of(kind)}{turns}")
        said += [f"{address} is left out: {why}" for address, why in sorted(self.refused.items())]
        return [*said, *([f"workers that were lost: {self.losses}"] if self.losses else [])]
