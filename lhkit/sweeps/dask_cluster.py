"""Connection to a Dask cluster: its workers, their versions, calls on one of them; it may break and return."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any

from lhkit.model.errors import Failure, error_for, usage_error
from lhkit.sweeps.dask_host import (
    Host,
    PackedSubject,
    Setup,
    leave,
    pack_subject,
    probe_host,
    reuse_connections,
)
from lhkit.sweeps.sweep_task import Subject
from lhkit.worker.folders import temporary_folder

_START_SECONDS = 60
_CONNECT_SECONDS = 10
_END_SECONDS = 20
_START_IT = "Start it (dask scheduler, dask worker), or leave the address out for a cluster of this machine."
IN_STORE = "What is done is in the store: start the sweep again when the cluster is there."
# Functions and values travel between equal versions; of Python's, two parts have to be equal.
_COMPARED: Mapping[str, int | None] = {"lhkit": None, "python": 2}
# The cluster in this process: no pages on its HTTP ports, no thread that samples our stacks.
_LOCAL_CONFIG = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
}


class LostError(Exception):
    """A worker, or with ``is_cluster`` the scheduler, is not there any more."""

    def __init__(self, why: object, *, is_cluster: bool = False) -> None:
        super().__init__(f"{type(why).__name__}: {why}")
        self.is_cluster = is_cluster


class DaskCluster:
    """A connection to a Dask cluster.

    Without an address the cluster is in this process and speaks to no other: Dask has no authentication, so
    anyone who reaches a port of its scheduler or workers can run code there.
    """

    def __init__(self, address: str | None) -> None:
        try:
            import distributed
        except ModuleNotFoundError:
            what = "the executor dask needs Dask, which is not installed"
            raise usage_error(what, "pip install 'lhkit[dask]' adds it.") from None
        self._distributed: Any = distributed
        self.name = f"the Dask scheduler at {address}" if address else "the Dask scheduler in this process"
        self._address, self._packed = address, dict[str, Any]()
        self._local = None if address else self._start_here()
        self._log = logging.getLogger("distributed.client")
        self._log_level = self._log.level
        self._log.setLevel(logging.CRITICAL)  # it logs the traceback of a lost connection, which is raised too
        self.client: Any = None
        try:
            self.client = self._connect(_START_SECONDS if address is None else _CONNECT_SECONDS)
            self._wait_for_workers()
        except BaseException:
            self.close()
            raise

    def workers(self) -> set[str]:
        """Return the addresses of Dask's workers.

        Raises:
            LostError: The scheduler is gone.
        """
        if self.client.status == "connecting":
            raise LostError("connecting again", is_cluster=True)
        try:
            if self.client.status == "closed":  # it gave up
                self.client = self._connect(_CONNECT_SECONDS)
            return set(self.client.nthreads())
        except (OSError, CancelledError) as error:
            raise LostError(error, is_cluster=True) from None

    def other_versions(self) -> tuple[dict[str, str], str | None]:
        """Return how each worker of other versions differs, and a table of all that differ, if any do."""
        with self._connected("versions were compared"):
            found = self.client.get_versions(packages=["lhkit"])
        here, there = _versions_of(found["client"]), found["workers"]
        differing = {
            address: ", ".join(f"{name} {node[name]}, here {here[name]}" for name in _COMPARED)
            for address, versions in there.items()
            if (node := _versions_of(versions)) != here
        }
        return differing, version_table(found)

    def probe(self, setup: Setup, workers: Collection[str]) -> dict[str, Host | Failure]:
        """Return what these workers of Dask are, by address."""
        with self._connected("its machines were looked at"):
            found = self.client.run(probe_host, setup, workers=list(workers), on_error="return")
        return {a: h if isinstance(h, Host | Failure) else _lost(a, h) for a, h in found.items()}

    async def call(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function on a worker and return its result.

        Raises:
            LostError: The worker or the scheduler is gone.
        """
        return self._result(await self.call_all([worker], function, *arguments), worker)

    async def call_all(
        self, workers: Collection[str], function: Callable[..., Any], *arguments: Any
    ) -> dict[str, Any]:
        """Run a function on several workers; return the result or the error of each.

        Raises:
            LostError: The scheduler is gone.
        """
        how: dict[str, Any] = {"workers": list(workers), "on_error": "return", "asynchronous": True}
        found: dict[str, Any] = await self._in_loop(self.client.run(function, *arguments, **how))
        return found

    def _result(self, found: Mapping[str, Any], worker: str) -> Any:
        answer = found.get(worker)
        if isinstance(answer, OSError | CancelledError | asyncio.CancelledError):
            raise LostError(answer)
        if isinstance(answer, BaseException):
            what = f"a worker of the Dask cluster cannot run a variant: {type(answer).__name__}: {answer}"
            raise error_for(Failure("crash", what, advice=IN_STORE))
        return answer

    async def _in_loop(self, running: Any) -> Any:
        """Wait, in the loop of the sweep, for what runs in the client's."""
        loop = self.client.loop.asyncio_loop
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(running, loop))
        except (OSError, CancelledError) as error:
            raise LostError(error, is_cluster=True) from None
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise LostError(error, is_cluster=True) from None  # Dask's own, when it gives up

    async def bring(self, subject: Subject, workers: Collection[str]) -> set[str]:
        """Have a payload on workers, which pass it on among them; return those that have it.

        Raises:
            LostError: The scheduler is gone.
        """
        client, future = self.client, self._packed.get(subject.scope)
        if future is None or future.status in ("cancelled", "error", "lost") or future.client is not client:
            # As what a task returns: Dask makes it again if it is lost with its worker.
            key = f"lhkit-payload-{uuid.uuid4().hex}"
            future = client.submit(_identity, pack_subject(subject), key=key)
            self._packed[subject.scope] = future
        try:
            async with self._without_memory_manager():
                await self._in_loop(client.replicate([future], workers=list(workers), asynchronous=True))
        except LostError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a scheduler says of a worker that left just now
            self._log.debug("a payload did not reach all workers: %s", error)
        known = await self._in_loop(client.scheduler.who_has(keys=[future.key]))
        return set(workers) & set(known.get(future.key) or ())

    def key_of(self, subject: Subject) -> str:
        """Return what Dask calls a payload that was brought to workers."""
        return str(self._packed[subject.scope].key)

    @contextlib.asynccontextmanager
    async def _without_memory_manager(self) -> AsyncIterator[None]:
        """Keep Dask's active memory manager from deleting copies while they are passed on."""
        ask = self.client.scheduler.amm_handler
        is_running = await self._in_loop(ask(method="running"))
        if is_running:
            await self._in_loop(ask(method="stop"))
        try:
            yield
        finally:
            if is_running:
                await self._in_loop(ask(method="start"))

    def leave(self, sweep: str) -> None:
        """End what the workers do for a sweep."""
        if self.client.status == "running":  # else the scheduler is gone
            with contextlib.suppress(OSError, CancelledError):  # a connection that breaks now
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

    def _connect(self, seconds: float) -> Any:
        where = self._address or self._local
        try:
            client = self._distributed.Client(where, timeout=seconds, set_as_default=False)
            client.run_on_scheduler(reuse_connections)
            return client
        except ValueError as error:
            raise usage_error(f"no Dask scheduler answers at {self._address}: {error}", _START_IT) from None
        except OSError as error:  # a time-out too
            if self.client is not None:
                raise
            raise usage_error(f"no Dask scheduler answers at {self._address}: {error}", _START_IT) from None

    def _wait_for_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=_START_SECONDS)
        except TimeoutError:
            raise usage_error(f"{self.name} has no workers", _START_IT) from None

    @contextlib.contextmanager
    def _connected(self, when: str) -> Iterator[None]:
        try:
            yield
        except (OSError, CancelledError) as error:
            what = f"{self.name} was lost while {when}: {error}"
            raise error_for(Failure("crash", what, advice=_START_IT)) from None


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


def _identity(packed: PackedSubject) -> PackedSubject:
    return packed
