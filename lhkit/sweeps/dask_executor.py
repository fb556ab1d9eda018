"""Tries variants on a Dask cluster, one at a time a machine."""

from __future__ import annotations

import asyncio
import queue
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from lhkit.model.errors import error_for, usage_error
from lhkit.sweeps.carrying import Cargo, load_cargo, write_places
from lhkit.sweeps.dask_cluster import DaskCluster
from lhkit.sweeps.dask_host import Answer, Setup, try_here
from lhkit.sweeps.executors import Programs, Trial
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.worker_questions import Question

_MOST_MOVES = 10


class DaskExecutor:
    """Tries variants on the machines of a Dask cluster, which places them and tries again what it loses.

    Only machines of one kind take part: times of different ones cannot be compared.

    Args:
        address: Of the scheduler; without one a cluster in this process is started, and ended with it.
        limits: What one variant may take.
        preparation: What workers of lhkit are asked first; see `Worker`.
        describe: Returns the hash of machine, toolchain and pipeline; it travels by its name.
        here: The hash of this machine.

    Attributes:
        environment: Hash of the machines that take part: this one if the cluster has such, else the most.
        capacity: How many machines take part.
        is_like_here: Whether this machine is of their kind.

    Raises:
        UsageError: Dask is not installed, no scheduler or no worker answers, or versions differ.
        LhkitError: Nothing can be tried on any machine.
    """

    def __init__(
        self,
        address: str | None,
        limits: Limits,
        *,
        preparation: tuple[Question, ...] = (),
        describe: Callable[[Worker], str],
        here: str | None = None,
    ) -> None:
        self._setup = Setup(uuid.uuid4().hex, preparation, describe, limits)
        self._cluster = DaskCluster(address)
        try:
            self.environment, hosts = choose_machines(self._cluster.look_around(self._setup), here)
        except BaseException:
            self.end()
            raise
        self.is_like_here = self.environment == here
        self.capacity = len(hosts)
        self._free: queue.SimpleQueue[str] = queue.SimpleQueue()
        for host in hosts:
            self._free.put(host)
        self._threads = ThreadPoolExecutor(self.capacity, thread_name_prefix="lhkit-dask")
        self._cargos: dict[str, Any] = {}
        self._running: set[Any] = set()

    async def try_variant(self, variant: Variant, best_ns: float | None, known: Programs) -> Trial:
        """Try a variant; see `Executor.try_variant`."""
        programs = None if known is None else frozenset(known)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._try, variant, best_ns, programs)

    async def close(self) -> None:
        """End what is running, the workers of lhkit, and the cluster if it is its own."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self.end)

    def _try(self, variant: Variant, best_ns: float | None, known: frozenset[str] | None) -> Trial:
        host = self._free.get()
        try:
            for _ in range(_MOST_MOVES):
                answer = self._ask(host, variant, best_ns, known)
                if isinstance(answer, Trial):
                    return answer
                if answer.failure is not None:
                    raise error_for(answer.failure)
                if answer.trial is not None:
                    return _described(answer.trial, answer, variant.subject)
        finally:
            self._free.put(host)
        raise usage_error(
            "the Dask cluster has no machine left of the kind that this sweep began on",
            "Start it again: the machines that are left begin records of their own.",
        )

    def _ask(
        self, host: str, variant: Variant, best_ns: float | None, known: frozenset[str] | None
    ) -> Answer | Trial:
        future = self._cluster.client.submit(
            try_here,
            self._setup,
            self.environment,
            self._cargo(variant.subject),
            dict(variant.values),
            best_ns,
            known,
            key=f"lhkit-variant-{uuid.uuid4().hex}",
            workers=[host],
            allow_other_workers=True,  # a machine that is gone has its variant tried elsewhere
        )
        self._running.add(future)
        try:
            return self._cluster.result_of(future)
        finally:
            self._running.discard(future)

    def _cargo(self, subject: Subject) -> Any:
        """Return a payload as Dask knows it: as what a task returns, so that it is not lost with a worker."""
        if subject.scope not in self._cargos:
            key = f"lhkit-payload-{uuid.uuid4().hex}"
            self._cargos[subject.scope] = self._cluster.client.submit(_arrived, load_cargo(subject), key=key)
        return self._cargos[subject.scope]

    def end(self) -> None:
        """Do what `close` does, and wait for it."""
        for future in tuple(getattr(self, "_running", ())):
            future.cancel()
        self._cluster.leave(self._setup.sweep)
        self._cluster.close()


def choose_machines(found: Mapping[str, Answer], here: str | None) -> tuple[str, list[str]]:
    """Return the environment of the machines that take part, and their names.

    Args:
        found: What `look_around` returned, by the addresses of Dask's workers.
        here: The environment of this machine; without it, or if there is no such machine, the most frequent.

    Raises:
        LhkitError: Nothing can be tried on any.
    """
    failures = [a.failure for a in found.values() if a.failure is not None]
    able = {address: a.environment for address, a in found.items() if a.failure is None}
    if failures and not able:
        raise error_for(failures[0])
    machines = {(urlsplit(address).hostname or address, kind) for address, kind in able.items()}
    counted = Counter(kind for _, kind in sorted(machines))
    chosen = here if here in counted else counted.most_common(1)[0][0]
    return str(chosen), sorted(host for host, kind in machines if kind == chosen)


def _arrived(cargo: Cargo) -> Cargo:
    return cargo


def _described(trial: Trial, answer: Answer, subject: Subject) -> Trial:
    """Return a trial with words for a wrong result, which is compared where the reference is."""
    if trial.status != "wrong-result":
        return trial
    write_places(subject, answer.results)
    return replace(trial, message=subject.difference(answer.shapes))
