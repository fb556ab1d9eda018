"""Worker side of the Dask executor: one persistent lhkit worker per Dask worker process."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import os
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from lhkit.model.errors import Failure, LhkitError, error_for
from lhkit.model.knob import KnobValue
from lhkit.sweeps.executors import LocalExecutor, Trial
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import PrepareSweep
from lhkit.worker.limits import Limits
from lhkit.worker.requests import LoadOps
from lhkit.worker.shared_arrays import ArrayPlace, dtype_named
from lhkit.worker.temp_folders import wait_for_lock
from lhkit.worker.user_folders import machine_folder, open_private


@dataclass(frozen=True, slots=True)
class PackedSubject:
    """A payload that is ready for variants, with its files by name, without anything of this machine."""

    scope: str
    preparation: PrepareSweep
    files: Mapping[str, bytes]


def pack_subject(subject: Subject) -> PackedSubject:
    """Return a subject as it travels."""
    names = set()

    def noted(name: str) -> str:
        names.add(name)
        return name

    _with_files(subject.preparation, noted)
    files = {name: Path(name).read_bytes() for name in sorted(names)}
    return PackedSubject(subject.scope, subject.preparation, files)


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
            # It was tried here, but what came of it has not reached the sweep.
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
