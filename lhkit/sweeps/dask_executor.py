"""Dask executor: tries variants on a Dask cluster, one at a time per machine.

First what runs on Dask's workers, each with a persistent lhkit worker; then the side of the sweep.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import math
import os
import platform
import queue
import threading
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from lhkit.model.errors import Failure, LhkitError, error_for, usage_error
from lhkit.model.knob import KnobValue
from lhkit.sweeps.engine import LocalExecutor, Programs, Trial
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.worker.client import Worker
from lhkit.worker.folders import machine_folder, open_private, temporary_folder, wait_for_lock
from lhkit.worker.kernel_requests import PrepareSweep, VariantDescription
from lhkit.worker.limits import Limits
from lhkit.worker.requests import LoadOps
from lhkit.worker.shared_arrays import ArrayPlace, dtype_named


@dataclass(frozen=True, slots=True)
class PackedSubject:
    """A payload that is ready for variants, with its files by name, without anything of this machine."""

    scope: str
    preparation: PrepareSweep
    files: Mapping[str, bytes]


def pack_subject(subject: Subject) -> PackedSubject:
    """Return a subject as it travels."""
    files: dict[str, bytes] = {}

    def read(name: str) -> str:
        files[name] = files.get(name) or Path(name).read_bytes()
        return name

    return PackedSubject(subject.scope, _with_files(subject.preparation, read), files)


def unpack_subject(
    packed: PackedSubject, folder: Path, difference: Callable[[Sequence[Sequence[int]]], str]
) -> Subject:
    """Return the subject of what has arrived."""
    names = {}
    for number, (name, content) in enumerate(packed.files.items()):
        path = folder / f"{packed.scope[:12]}-{number}"
        path.write_bytes(content)
        names[name] = str(path)
    return Subject(packed.scope, _with_files(packed.preparation, names.__getitem__), difference)


def read_places(subject: Subject) -> list[bytes]:
    """Return what is in the places of wrong results."""
    found = []
    for place in subject.preparation.places:
        with Path(place.file or "").open("rb") as file:
            file.seek(place.offset)
            found.append(file.read(math.prod(place.extents) * dtype_named(place.dtype).itemsize))
    return found


def write_places(subject: Subject, contents: Sequence[bytes]) -> None:
    """Put into the places of wrong results what `read_places` returned on another machine."""
    for place, content in zip(subject.preparation.places, contents, strict=True):
        with Path(place.file or "").open("r+b") as file:
            file.seek(place.offset)
            file.write(content)


def _with_files(request: PrepareSweep, renamed: Callable[[str], str]) -> PrepareSweep:
    """Return a request with other names of the files that its arrays are in."""

    def moved(place: ArrayPlace) -> ArrayPlace:
        return place if place.file is None else structs.replace(place, file=renamed(place.file))

    resources = {name: moved(place) for name, place in request.spec.resources.items()}
    return structs.replace(
        request,
        spec=dataclasses.replace(request.spec, resources=resources),
        setup=dataclasses.replace(request.setup, arguments=tuple(map(moved, request.setup.arguments))),
        expected=tuple((moved(e), None if a is None else moved(a)) for e, a in request.expected),
        places=tuple(map(moved, request.places)),
    )


# A sweep beside this one tries its variants in turn with ours.
_WAIT_SECONDS = 600.0
_MOST_HOLDER_BYTES = 200
_AGAIN = "Stop that process or wait for its sweep, then start this sweep again: what is done is in the store."
_OTHER_FOLDER = "Set LHKIT_STATE_DIR to another folder on that machine."


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a sweep that every machine shares; ``describe`` hashes machine and toolchain."""

    sweep: str
    preparation: tuple[LoadOps, ...]
    describe: Callable[[Worker], str]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a machine: its environment, a trial if there was one, why nothing can be tried."""

    environment: str
    trial: Trial | None = None
    failure: Failure | None = None
    shapes: Sequence[Sequence[int]] = ()
    results: Sequence[bytes] = ()


class _HostState:
    """A sweep as one process knows it."""

    def __init__(self, setup: Setup) -> None:
        worker = Worker()
        worker.preparation = setup.preparation
        self._folder = worker.files.folder
        self.executor = LocalExecutor(worker, setup.limits)
        self._subjects: dict[str, Subject] = {}
        self._shapes: Sequence[Sequence[int]] = ()
        try:
            self.environment = setup.describe(worker)
        except BaseException:
            worker.close()
            raise

    def try_variant(
        self,
        packed: PackedSubject,
        values: Mapping[str, KnobValue],
        best_ns: float | None,
        known: frozenset[str] | None,
    ) -> Answer:
        if packed.scope not in self._subjects:
            self._subjects[packed.scope] = unpack_subject(packed, self._folder, self._note_shapes)
        subject = self._subjects[packed.scope]
        variant = Variant((), subject, values, (), "")
        trial = asyncio.run(self.executor.try_variant(variant, best_ns, known))
        if trial.status == "same" and trial.ir_sha256 not in (known or ()):
            # It was tried here, but its record has not reached the sweep.
            trial = asyncio.run(self.executor.try_variant(variant, best_ns, None))
        if trial.status != "wrong-result":
            return Answer(self.environment, trial)
        return Answer(self.environment, trial, None, self._shapes, read_places(subject))

    def _note_shapes(self, shapes: Sequence[Sequence[int]]) -> str:
        self._shapes = shapes
        return ""


_HOSTS: dict[str, _HostState] = {}
_LOCK = threading.Lock()


def try_here(
    setup: Setup,
    environment: str,
    packed: PackedSubject,
    values: Mapping[str, KnobValue],
    best_ns: float | None,
    known: frozenset[str] | None,
) -> Answer:
    """Try a variant, if this machine is one whose times may be compared with those of the sweep."""
    try:
        with _one_at_a_time():
            state = _host_state(setup)
            if state.environment != environment:
                return Answer(state.environment)
            return state.try_variant(packed, values, best_ns, known)
    except LhkitError as error:  # its failure travels, exceptions with other arguments do not
        return Answer("", failure=error.failure)


async def probe_hosts(setup: Setup) -> Answer:
    """Return what this machine is, with a worker of lhkit ready for the sweep."""
    try:
        state = await asyncio.to_thread(_host_state, setup)
    except LhkitError as error:
        return Answer("", failure=error.failure)
    return Answer(state.environment)


async def leave(sweep: str) -> None:
    """End what this process does for a sweep."""
    if (state := _HOSTS.pop(sweep, None)) is not None:
        await state.executor.close()


def _host_state(setup: Setup) -> _HostState:
    with _LOCK:
        if setup.sweep not in _HOSTS:
            _HOSTS[setup.sweep] = _HostState(setup)
        return _HOSTS[setup.sweep]


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Wait until nothing else of this user is tried on this machine; the lock ends with its process."""
    try:
        path = machine_folder("sweeps") / "lock"
        descriptor = open_private(path)
    except OSError as error:
        why = f"{error.filename}: {error.strerror or error}"
        what = f"the lock of this machine's sweeps cannot be opened: {why}"
        raise error_for(Failure("usage", what, advice=_OTHER_FOLDER)) from None
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        if not wait_for_lock(descriptor, _WAIT_SECONDS):
            holder = file.read(_MOST_HOLDER_BYTES).decode(errors="replace") or "another process"
            what = f"waited {_WAIT_SECONDS:.0f} s for {holder}, which tries a variant and holds {path}"
            raise error_for(Failure("timeout", what, advice=_AGAIN))
        file.truncate(0)
        file.write(f"process {os.getpid()} of {platform.node()}".encode())
        yield


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
        try:
            import distributed
        except ModuleNotFoundError:
            what = "the executor dask needs Dask, which is not installed"
            raise usage_error(what, "pip install 'lhkit[dask]' adds it.") from None
        self._distributed: Any = distributed
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
        """Wait for the answer of a future, which is cancelled if there are no workers for too long."""
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

    async def describe(self, variants: Sequence[Variant]) -> Sequence[VariantDescription | None]:
        """Describe nothing: the schedule is applied where variants are tried; see `Executor.describe`."""
        return [None] * len(variants)

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
                if (trial := answer.trial) is not None:
                    if trial.status == "wrong-result":  # it is compared where the reference is
                        write_places(variant.subject, answer.results)
                        said = variant.subject.difference(answer.shapes)
                        trial = dataclasses.replace(trial, message=said)
                    return trial
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
