"""Dask executor: tries variants on a Dask cluster, one at a time per machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from lhkit.model.errors import Failure, error_for, usage_error
from lhkit.sweeps.dask_host import (
    Answer,
    PackedSubject,
    Setup,
    leave,
    pack_subject,
    probe_hosts,
    try_here,
    write_places,
)
from lhkit.sweeps.executors import Programs, Trial
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import LoadOps
from lhkit.worker.temp_folders import temporary_folder

_START_SECONDS = 60
_CONNECT_SECONDS = 10
_END_SECONDS = 20
# A nanny starts a lost worker again within seconds.
_WITHOUT_WORKERS_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_START_IT = "Start it (dask scheduler, dask worker), or leave the address out for a cluster of this machine."
_IN_STORE = "What is done is in the store: start the sweep again when the cluster is there."
# Functions and values travel between equal versions; of Python's, two parts have to be equal.
_COMPARED: Mapping[str, int | None] = {"lhkit": None, "python": 2}
# The cluster in this process: no pages on its HTTP ports, no thread that samples our stacks.
_LOCAL_CONFIG = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
}


class DaskCluster:
    """A connection to a Dask cluster.

    Without an address the cluster is in this process and speaks to no other: Dask has no authentication, so
    anyone who reaches a port of its scheduler or workers can run code there.
    """

    def __init__(self, address: str | None) -> None:
        self._distributed = _import_distributed()
        self._name = f"the Dask scheduler at {address}" if address else "the Dask scheduler in this process"
        self._local = None if address else self._start_here()
        self._log = logging.getLogger("distributed.client")
        self._log_level = self._log.level
        self._log.setLevel(logging.CRITICAL)  # it logs the traceback of a lost connection, which is raised too
        self.client: Any = None
        try:
            self.client = self._connect(address)
            self._check_versions()
        except BaseException:
            self.close()
            raise

    def probe_hosts(self, setup: Setup) -> dict[str, Answer]:
        """Return what each of Dask's workers is, by its address."""
        with self._connected("its machines were looked at"):
            found = self.client.run(probe_hosts, setup, on_error="return")
        return {
            worker: answer if isinstance(answer, Answer) else Answer("", failure=_lost(worker, answer))
            for worker, answer in found.items()
        }

    def result_of(self, future: Any) -> Answer | Trial:
        """Return what comes of a variant, whose future is cancelled if there are no workers for too long."""
        lost_at: float | None = None
        while True:
            try:
                answer: Answer = future.result(timeout=_LOOK_SECONDS)
                return answer
            except self._distributed.KilledWorker as error:
                return Trial("crashed", f"Dask lost every worker that tried it: {error}".partition("\n")[0])
            except CancelledError:
                what = f"{self._name} is gone, or was told to give the variants up"
                raise error_for(Failure("crash", what, advice=_IN_STORE)) from None
            except TimeoutError:
                lost_at = None if self._has_workers() else lost_at or time.monotonic()
            except Exception as error:  # noqa: BLE001 - whatever unpickling there raises
                self._check_versions()
                what = f"a worker of the Dask cluster cannot run a variant: {type(error).__name__}: {error}"
                raise error_for(Failure("crash", what, advice=_IN_STORE)) from None
            if lost_at is not None and time.monotonic() - lost_at >= _WITHOUT_WORKERS_SECONDS:
                future.cancel()
                limit = f"{_WITHOUT_WORKERS_SECONDS:g} s"
                what = f"{self._name} lost its last worker, and none came back within {limit}"
                raise error_for(Failure("crash", what, advice=_IN_STORE))

    def leave(self, sweep: str) -> None:
        """End what the workers do for a sweep."""
        if self.client.status == "running":  # else the scheduler is gone
            with contextlib.suppress(OSError):  # a connection that breaks now
                self.client.run(leave, sweep, on_error="ignore")

    def close(self) -> None:
        """End the connection, and the cluster if it is in this process."""
        if self.client is not None:
            self.client.close(timeout=_END_SECONDS)
        self._log.setLevel(self._log_level)
        if self._local is not None:
            self._local.close(timeout=_END_SECONDS)
            self._delete_folder()

    def _start_here(self) -> Any:
        import dask

        folder, self._delete_folder = temporary_folder(self, "lhkit-dask-")
        with dask.config.set(_LOCAL_CONFIG), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a machine without a network
            return self._distributed.LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                processes=False,
                memory_limit=0,
                local_directory=str(folder),
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
            )

    def _connect(self, address: str | None) -> Any:
        seconds = _START_SECONDS if address is None else _CONNECT_SECONDS
        try:
            client = self._distributed.Client(address or self._local, timeout=seconds, set_as_default=False)
        except (OSError, ValueError) as error:  # a time-out is an OSError
            raise usage_error(f"no Dask scheduler answers at {address}: {error}", _START_IT) from None
        try:
            client.wait_for_workers(1, timeout=_START_SECONDS)
        except TimeoutError:
            client.close()
            raise usage_error(f"{self._name} has no workers", _START_IT) from None
        return client

    def _check_versions(self) -> None:
        with self._connected("versions were compared"):
            found = self.client.get_versions(packages=["lhkit"])
        if (table := version_table(found)) is not None:
            raise usage_error(
                f"the Dask cluster runs other versions than this process\n{table}",
                "Start its scheduler and workers from an environment with these versions of lhkit and Python.",
            )

    @contextlib.contextmanager
    def _connected(self, when: str) -> Iterator[None]:
        try:
            yield
        except (OSError, CancelledError) as error:
            what = f"{self._name} was lost while {when}: {error}"
            raise error_for(Failure("crash", what, advice=_START_IT)) from None

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.scheduler_info()["workers"])
        except (OSError, CancelledError):  # it may come back; else Dask cancels the futures
            return True


def version_table(found: Mapping[str, Any]) -> str | None:
    """Return a table of versions that differ from those of this process; None if none does."""
    here = _versions_of(found["client"])
    nodes = {"this process": here, "scheduler": _versions_of(found["scheduler"])}
    nodes |= {f"worker {address}": _versions_of(node) for address, node in sorted(found["workers"].items())}
    rows = [(name, *node.values()) for name, node in nodes.items() if node != here or name == "this process"]
    if len(rows) == 1:
        return None
    lines = [("", *_COMPARED), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    cells = (zip(line, widths, strict=True) for line in lines)
    return "\n".join("  ".join(cell.ljust(width) for cell, width in line).rstrip() for line in cells)


def _versions_of(node: Mapping[str, Any] | None) -> dict[str, str]:
    packages = (node or {}).get("packages") or {}
    versions = {name: str(packages.get(name) or "not installed") for name in _COMPARED}
    return {name: ".".join(v.split(".")[: _COMPARED[name]]) for name, v in versions.items()}


def _lost(worker: str, error: object) -> Failure:
    what = f"the Dask worker {worker} was lost while it was looked at: {type(error).__name__}: {error}"
    return Failure("crash", what, advice="See what it printed; start it again, then the sweep.")


def _import_distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        what = "the executor dask needs Dask, which is not installed"
        raise usage_error(what, "pip install 'lhkit[dask]' adds it.") from None
    return distributed


_MOST_MOVES = 10


class DaskExecutor:
    """Tries variants on those machines of a Dask cluster that are of one kind: this one's, else the most."""

    def __init__(
        self,
        address: str | None,
        limits: Limits,
        *,
        preparation: tuple[LoadOps, ...] = (),
        describe: Callable[[Worker], str],
        here: str | None = None,
    ) -> None:
        self._setup = Setup(uuid.uuid4().hex, preparation, describe, limits)
        self._cluster = DaskCluster(address)
        try:
            self.environment, hosts = choose_machines(self._cluster.probe_hosts(self._setup), here)
        except BaseException:
            self.end()
            raise
        self.is_like_here = self.environment == here
        self.capacity = len(hosts)
        self._free: queue.SimpleQueue[str] = queue.SimpleQueue()
        for host in hosts:
            self._free.put(host)
        self._threads = ThreadPoolExecutor(self.capacity, thread_name_prefix="lhkit-dask")
        self._packed: dict[str, Any] = {}
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
            self._packed_subject(variant.subject),
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

    def _packed_subject(self, subject: Subject) -> Any:
        """Return a payload as Dask knows it: as what a task returns, so that it is not lost with a worker."""
        if subject.scope not in self._packed:
            key = f"lhkit-payload-{uuid.uuid4().hex}"
            self._packed[subject.scope] = self._cluster.client.submit(_identity, pack_subject(subject), key=key)
        return self._packed[subject.scope]

    def end(self) -> None:
        """Do what `close` does, and wait for it."""
        for future in tuple(getattr(self, "_running", ())):
            future.cancel()
        self._cluster.leave(self._setup.sweep)
        self._cluster.close()


def choose_machines(found: Mapping[str, Answer], here: str | None) -> tuple[str, list[str]]:
    """Return the environment of the machines that take part, and their names."""
    failures = [a.failure for a in found.values() if a.failure is not None]
    able = {address: a.environment for address, a in found.items() if a.failure is None}
    if failures and not able:
        raise error_for(failures[0])
    machines = {(urlsplit(address).hostname or address, kind) for address, kind in able.items()}
    counted = Counter(kind for _, kind in sorted(machines))
    chosen = here if here in counted else counted.most_common(1)[0][0]
    return str(chosen), sorted(host for host, kind in machines if kind == chosen)


def _identity(packed: PackedSubject) -> PackedSubject:
    return packed


def _described(trial: Trial, answer: Answer, subject: Subject) -> Trial:
    """Return a trial with words for a wrong result, which is compared where the reference is."""
    if trial.status != "wrong-result":
        return trial
    write_places(subject, answer.results)
    return replace(trial, message=subject.difference(answer.shapes))


LOCAL, _DASK = "local", "dask"


def check_executor(name: str) -> None:
    """Refuse a name that is of no executor."""
    if name not in (LOCAL, _DASK) and not name.startswith(f"{_DASK}:"):
        raise usage_error(f"there is no executor {name!r}", "There are local, dask and dask:ADDRESS.")
