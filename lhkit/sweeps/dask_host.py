"""What a sweep runs on the workers of a Dask cluster, each with a persistent worker of lhkit.

The functions are called one by one, not as tasks of Dask: a task costs its scheduler ten times as much.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import math
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import structs

from lhkit.model.errors import Failure, LhkitError, error_for
from lhkit.model.knob import KnobValue
from lhkit.sweeps.core_sharing import boot_id, keep_cores_busy, leave_cores, sample_ns
from lhkit.sweeps.engine import CompiledVariant, LocalExecutor, Programs, Trial
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.worker.client import Worker
from lhkit.worker.folders import machine_folder, open_private, wait_for_lock
from lhkit.worker.kernel_requests import PrepareSweep
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
# A call to a machine takes its scheduler and the sweep some ms each, so it carries variants for about so long.
BATCH_SECONDS = 1.0
_MOST_HOLDER_BYTES = 200
_AGAIN = "Stop that process or wait for its sweep, then start this sweep again: what is done is in the store."
_OTHER_FOLDER = "Set LHKIT_STATE_DIR to another folder on that machine."
# `dask worker --resources lhkit-time=1`: variants are timed on such workers alone, where there are some; the
# others compile for them.
TIMING_RESOURCE = "lhkit-time"


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a sweep that every machine shares; ``describe`` returns facts of machine and toolchain."""

    sweep: str
    preparation: tuple[LoadOps, ...]
    describe: Callable[[Worker], Mapping[str, Any]]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Host:
    """What a machine is: its facts and boot, whether it is there for timing, and loads what others compile."""

    facts: Mapping[str, Any]
    boot: str = ""
    is_reserved: bool = False
    can_load: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a machine: a trial or code, or why nothing can be tried, or nothing: it is not ready."""

    trial: Trial | None = None
    compiled: CompiledVariant | None = None
    failure: Failure | None = None
    shapes: Sequence[Sequence[int]] = ()
    results: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to one call. Dask would serialize the items of a list one by one."""

    each: Sequence[Answer]


@dataclass(frozen=True, slots=True)
class Asked:
    """Variants of a sweep's payload, and programs that need not be tried again beside those of earlier calls.

    Attributes:
        sweep: Which sweep.
        scope: Which payload.
        key: What Dask calls it, which has brought it to this machine.
        variants: The knobs' values of each, in the order to try them in.
        news: Packed hashes of programs; None: every variant is tried whatever is known.
        best_ns: Median time of the best variant so far, or None.
        codes: What other machines compiled of each variant, empty where there is nothing; or none at all.
    """

    sweep: str
    scope: str
    key: str
    variants: Sequence[Mapping[str, KnobValue]]
    news: bytes | None
    best_ns: float | None = None
    codes: Sequence[bytes] = ()


class _HostState:
    """A sweep as one process knows it."""

    def __init__(self, setup: Setup) -> None:
        worker = Worker()
        worker.preparation = setup.preparation
        self._folder = worker.files.folder
        self.executor = LocalExecutor(worker, setup.limits)
        self.subjects: dict[str, Subject] = {}
        # Of each payload the programs that this process was told of, in that order.
        self._known: dict[str, dict[str, None]] = {}
        self._shapes: Sequence[Sequence[int]] = ()
        self.is_left = False
        try:
            self.facts = setup.describe(worker)
        except BaseException:
            worker.close()
            raise

    def keep_subject(self, packed: PackedSubject) -> None:
        if packed.scope not in self.subjects:
            self.subjects[packed.scope] = unpack_subject(packed, self._folder, self._note_shapes)
            self._known[packed.scope] = {}

    def try_variants(self, asked: Asked) -> list[Answer]:
        """Try variants for about a second: those that were not begun by then have no answer."""
        subject, programs = self._told(asked)
        until, best_ns = time.monotonic() + BATCH_SECONDS, asked.best_ns
        found: list[Answer] = []
        for values, code in zip(asked.variants, asked.codes or itertools.repeat(b""), strict=False):
            if found and (self.is_left or time.monotonic() >= until):
                break
            answer = self._try(_variant_of(subject, values), best_ns, programs, code)
            found.append(answer)
            if answer.trial is not None and answer.trial.time_ns is not None:
                best_ns = min(best_ns or math.inf, answer.trial.time_ns.median)
        return found

    def _try(self, variant: Variant, best_ns: float | None, programs: Programs, code: bytes) -> Answer:
        trial = asyncio.run(self.executor.try_variant(variant, best_ns, programs, code))
        if trial.ir_sha256 is not None:
            self._known[variant.subject.scope][trial.ir_sha256] = None
        if trial.status != "wrong-result":
            return Answer(trial)
        return Answer(trial, shapes=self._shapes, results=read_places(variant.subject))

    def compile_variants(self, asked: Asked) -> list[Answer]:
        """Compile variants for other machines."""
        subject, programs = self._told(asked)
        variants = [_variant_of(subject, values) for values in asked.variants]
        compiled = [asyncio.run(self.executor.compile_variant(v, programs)) for v in variants]
        return [Answer(c) if isinstance(c, Trial) else Answer(compiled=c) for c in compiled]

    def _told(self, asked: Asked) -> tuple[Subject, Programs]:
        known = self._known[asked.scope]
        if asked.news is not None:
            known.update(dict.fromkeys(unpack_programs(asked.news)))
        return self.subjects[asked.scope], None if asked.news is None else known.keys()

    def _note_shapes(self, shapes: Sequence[Sequence[int]]) -> str:
        self._shapes = shapes
        return ""


def _variant_of(subject: Subject, values: Mapping[str, KnobValue]) -> Variant:
    return Variant((), subject, values, (), "")


_HASH_BYTES = 32


def pack_programs(programs: Iterable[str]) -> bytes:
    """Return hashes of programs as they travel."""
    return b"".join(map(bytes.fromhex, programs))


def unpack_programs(packed: bytes) -> list[str]:
    """Return the hashes that `pack_programs` packed."""
    return [packed[i : i + _HASH_BYTES].hex() for i in range(0, len(packed), _HASH_BYTES)]


_HOSTS: dict[str, _HostState] = {}
_LOCK = threading.Lock()


async def try_here(asked: Asked, dask_worker: Any = None) -> Answers:
    """Try variants, one after the other; those that have no answer were not begun."""
    act = _HostState.try_variants
    return await asyncio.to_thread(_when_ready, asked, dask_worker, _one_at_a_time, act)


async def compile_here(asked: Asked, dask_worker: Any = None) -> Answers:
    """Compile variants for another machine; some may do so at a time."""
    act = _HostState.compile_variants
    return await asyncio.to_thread(_when_ready, asked, dask_worker, _at_once, act)


def _when_ready(
    asked: Asked,
    dask_worker: Any,
    turn: Callable[[], contextlib.AbstractContextManager[bool]],
    act: Callable[[_HostState, Asked], list[Answer]],
) -> Answers:
    try:
        with turn() as is_mine:
            if not is_mine:
                return Answers([])
            state = _HOSTS.get(asked.sweep)
            if state is None:
                return Answers([Answer()])  # another process has the address by now
            if asked.scope not in state.subjects:
                if (packed := dask_worker.data.get(asked.key)) is None:
                    return Answers([Answer()])  # Dask has dropped it
                state.keep_subject(packed)
            return Answers(act(state, asked))
    except LhkitError as error:  # its failure travels, exceptions with other arguments do not
        return Answers([Answer(failure=error.failure)])


async def probe_host(setup: Setup, dask_worker: Any = None) -> Host | Failure:
    """Return what this machine is, with a worker of lhkit ready for the sweep."""
    try:
        state = await asyncio.to_thread(_host_state, setup)
    except LhkitError as error:
        return error.failure
    resources = dask_worker.state.total_resources if dask_worker is not None else {}
    return Host(state.facts, boot_id(), bool(resources.get(TIMING_RESOURCE)), find_spec("llvmlite") is not None)


def reuse_connections() -> None:
    """Have a scheduler keep its connections to workers, where it would make one for each call."""
    import dask

    dask.config.set({"distributed.scheduler.reuse-broadcast-comm": True})


async def keep_busy(is_begun: bool) -> None:
    """Keep the cores of this machine busy from now on, or not any more, for the interference probe."""
    await asyncio.to_thread(keep_cores_busy if is_begun else leave_cores)


async def take_samples(count: int) -> list[float]:
    """Return so many samples of the interference probe."""
    return await asyncio.to_thread(lambda: [sample_ns() for _ in range(count)])


async def leave(sweep: str) -> None:
    """End what this process does for a sweep."""
    if (state := _HOSTS.pop(sweep, None)) is not None:
        state.is_left = True
        await state.executor.close()


def _host_state(setup: Setup) -> _HostState:
    with _LOCK:
        if setup.sweep not in _HOSTS:
            _HOSTS[setup.sweep] = _HostState(setup)
        return _HOSTS[setup.sweep]


def _at_once() -> contextlib.AbstractContextManager[bool]:
    return contextlib.nullcontext(True)


# Of the calls to this process the one that tries variants holds it: another one waits behind it.
_TRYING = threading.Lock()
# A slow variant is before it then, and other machines may be free.
_BEHIND_SECONDS = 2 * BATCH_SECONDS


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[bool]:
    """Wait until nothing else of this user is tried on this machine; yield False if this process does for long.

    The locks end with their process. Those that wait take turns: only the holder of the first lock waits for
    the second one, and gives the first one up when it has it.
    """
    with contextlib.ExitStack() as stack:
        with _locked("next"):
            if not _TRYING.acquire(timeout=_BEHIND_SECONDS):
                yield False
                return
            stack.callback(_TRYING.release)
            stack.enter_context(_locked("lock"))
        yield True


@contextlib.contextmanager
def _locked(name: str) -> Iterator[None]:
    """Hold one of the locks of this machine's sweeps."""
    try:
        path = machine_folder("sweeps") / name
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
