"""Tries variants on a Dask cluster, one at a time a machine."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from lhkit.model.errors import error_for, usage_error
from lhkit.model.failure import Failure
from lhkit.sweeping.carrying import Cargo, load_cargo, write_places
from lhkit.sweeping.dask_host import Answer, Setup, leave, look_around, try_here
from lhkit.sweeping.executor import Programs, Trial
from lhkit.sweeping.task import Subject, Variant
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.questions import Question

_START_SECONDS = 60
_END_SECONDS = 20
_OWN_WORKERS = 2
_MOST_MOVES = 10


class DaskExecutor:
    """Tries variants on the machines of a Dask cluster, which places them and tries again what it loses.

    Only machines of one kind take part: times of different ones cannot be compared.

    Args:
        address: Of the scheduler; without one a cluster of this machine is started, and ended with it.
        limits: What one variant may take.
        preparation: What workers of lhkit are asked first; see `Worker`.
        describe: Returns the hash of machine, toolchain and pipeline; it travels by its name.
        here: The hash of this machine.

    Attributes:
        environment: Hash of the machines that take part: this one if the cluster has such, else the most.
        capacity: How many machines take part.
        is_like_here: Whether this machine is of their kind.

    Raises:
        UsageError: Dask is not installed, or no scheduler or no worker answers.
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
        self._distributed = _import_distributed()
        self._setup = Setup(uuid.uuid4().hex, preparation, describe, limits)
        self._cluster = None if address else self._local_cluster()
        try:
            self._client = self._connect(address)
        except BaseException:
            self._end_cluster()
            raise
        try:
            self.environment, hosts = choose_machines(self._client.run(look_around, self._setup), here)
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

    def _local_cluster(self) -> Any:
        # No dashboard: nobody was told its address.
        return self._distributed.LocalCluster(
            n_workers=_OWN_WORKERS, threads_per_worker=1, dashboard_address=None, memory_limit=0
        )

    def _connect(self, address: str | None) -> Any:
        advice = (
            "Start it (dask scheduler, dask worker), or leave the address out for a cluster of this machine."
        )
        try:
            client = self._distributed.Client(
                address or self._cluster,
                timeout=_START_SECONDS if address is None else 10,
                set_as_default=False,
            )
        except (OSError, ValueError) as error:  # a time-out is an OSError
            raise usage_error(f"no Dask scheduler answers at {address}: {error}", advice) from None
        try:
            client.wait_for_workers(1, timeout=_START_SECONDS)
        except TimeoutError:
            client.close()
            raise usage_error(f"the Dask scheduler at {address} has no workers", advice) from None
        return client

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
        future = self._client.submit(
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
            answer: Answer = future.result()
        except self._distributed.KilledWorker as error:
            return Trial("crashed", f"Dask lost every worker that tried it: {error}".partition("\n")[0])
        except CancelledError:
            what = "the Dask scheduler is gone, or was told to give the variants up"
            advice = "What is done is in the store: start the sweep again when the cluster is there."
            raise error_for(Failure("crash", what, advice=advice)) from None
        finally:
            self._running.discard(future)
        return answer

    def _cargo(self, subject: Subject) -> Any:
        """Return a payload as Dask knows it: as what a task returns, so that it is not lost with a worker."""
        if subject.scope not in self._cargos:
            key = f"lhkit-payload-{uuid.uuid4().hex}"
            self._cargos[subject.scope] = self._client.submit(_arrived, load_cargo(subject), key=key)
        return self._cargos[subject.scope]

    def end(self) -> None:
        """Do what `close` does, and wait for it."""
        for future in tuple(getattr(self, "_running", ())):
            future.cancel()
        if self._client.status == "running":  # else the scheduler is gone
            with contextlib.suppress(OSError):  # a connection that breaks now
                self._client.run(leave, self._setup.sweep, on_error="ignore")
        self._client.close(timeout=_END_SECONDS)
        self._end_cluster()

    def _end_cluster(self) -> None:
        if self._cluster is not None:
            self._cluster.close(timeout=_END_SECONDS)


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


def _import_distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise usage_error(
            "the executor dask needs Dask, which is not installed", "pip install 'lhkit[dask]' adds it."
        ) from None
    return distributed
