"""What runs in the worker processes of a Dask cluster: one persistent worker of lhkit in each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import LhkitError, error_for
from lhkit.model.failure import Failure
from lhkit.model.knob import KnobValue
from lhkit.sweeps.carrying import Cargo, read_places, unload_cargo
from lhkit.sweeps.executors import LocalExecutor, Trial
from lhkit.sweeps.sweep_task import Subject, Variant
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.locking import wait_for_lock
from lhkit.worker.user_folders import machine_folder, open_private
from lhkit.worker.worker_questions import Question

# A sweep beside this one tries its variants in turn with ours.
_WAIT_SECONDS = 600.0
_MOST_HOLDER_BYTES = 200
_AGAIN = "Stop that process or wait for its sweep, then start this sweep again: what is done is in the store."
_OTHER_FOLDER = "Set LHKIT_STATE_DIR to another folder on that machine."


@dataclass(frozen=True, slots=True)
class Setup:
    """How a sweep has its variants tried, on every machine.

    Attributes:
        sweep: Tells this sweep from others.
        preparation: What the process of lhkit is asked first; see `Worker`.
        describe: Returns the hash of machine, toolchain and pipeline.
        limits: What one variant may take.
    """

    sweep: str
    preparation: tuple[Question, ...]
    describe: Callable[[Worker], str]
    limits: Limits


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back from a machine.

    Attributes:
        environment: Hash of the machine, its toolchain and pipeline.
        trial: What came of the variant, or None if it was not tried.
        failure: Why nothing can be tried there, or None.
        shapes: Of a wrong result.
        results: The bytes of a wrong result.
    """

    environment: str
    trial: Trial | None = None
    failure: Failure | None = None
    shapes: Sequence[Sequence[int]] = ()
    results: Sequence[bytes] = ()


class _Bench:
    """A sweep as one process knows it."""

    def __init__(self, setup: Setup) -> None:
        worker = Worker()
        worker.preparation = setup.preparation
        self._folder = worker.files.folder
        self._executor = LocalExecutor(worker, setup.limits)
        self._subjects: dict[str, Subject] = {}
        self._shapes: Sequence[Sequence[int]] = ()
        try:
            self.environment = setup.describe(worker)
        except BaseException:
            worker.close()
            raise

    def try_variant(
        self,
        cargo: Cargo,
        values: Mapping[str, KnobValue],
        best_ns: float | None,
        known: frozenset[str] | None,
    ) -> Answer:
        if cargo.scope not in self._subjects:
            self._subjects[cargo.scope] = unload_cargo(cargo, self._folder, self._note_shapes)
        subject = self._subjects[cargo.scope]
        variant = Variant((), subject, values, (), "")
        trial = asyncio.run(self._executor.try_variant(variant, best_ns, known))
        if trial.status == "same" and trial.ir_sha256 not in (known or ()):
            # It was tried here, but what came of it has not reached the sweep.
            trial = asyncio.run(self._executor.try_variant(variant, best_ns, None))
        if trial.status != "wrong-result":
            return Answer(self.environment, trial)
        return Answer(self.environment, trial, None, self._shapes, read_places(subject))

    def _note_shapes(self, shapes: Sequence[Sequence[int]]) -> str:
        self._shapes = shapes
        return ""

    async def close(self) -> None:
        await self._executor.close()


_BENCHES: dict[str, _Bench] = {}
_LOCK = threading.Lock()


def try_here(
    setup: Setup,
    environment: str,
    cargo: Cargo,
    values: Mapping[str, KnobValue],
    best_ns: float | None,
    known: frozenset[str] | None,
) -> Answer:
    """Try a variant, if this machine is one whose times may be compared with those of the sweep.

    Args:
        setup: The sweep.
        environment: Hash of what the machine has to be.
        cargo: The payload.
        values: The value of every knob.
        best_ns: Median time of the best variant so far.
        known: Hashes of programs that need not be tried again; None: try every one.
    """
    try:
        with _one_at_a_time():
            bench = _bench(setup)
            if bench.environment != environment:
                return Answer(bench.environment)
            return bench.try_variant(cargo, values, best_ns, known)
    except LhkitError as error:  # its failure travels, exceptions with other arguments do not
        return Answer("", failure=error.failure)


async def look_around(setup: Setup) -> Answer:
    """Return what this machine is, with a worker of lhkit ready for the sweep."""
    try:
        bench = await asyncio.to_thread(_bench, setup)
    except LhkitError as error:
        return Answer("", failure=error.failure)
    return Answer(bench.environment)


async def leave(sweep: str) -> None:
    """End what this process does for a sweep."""
    bench = _BENCHES.pop(sweep, None)
    if bench is not None:
        await bench.close()


def _bench(setup: Setup) -> _Bench:
    with _LOCK:
        if setup.sweep not in _BENCHES:
            _BENCHES[setup.sweep] = _Bench(setup)
        return _BENCHES[setup.sweep]


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Wait until nothing else of this user is tried on this machine; the lock ends with its process.

    Raises:
        LhkitError: Another sweep had the lock for too long, or there is no place for it.
    """
    try:
        path = machine_folder("sweeps") / "lock"
        descriptor = open_private(path)
    except OSError as error:
        what = (
            f"the lock of this machine's sweeps cannot be opened: {error.filename}: {error.strerror or error}"
        )
        raise error_for(Failure("usage", what, advice=_OTHER_FOLDER)) from None
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        if not wait_for_lock(descriptor, _WAIT_SECONDS):
            holder = file.read(_MOST_HOLDER_BYTES).decode(errors="replace") or "another process"
            what = f"waited {_WAIT_SECONDS:.0f} s for {holder}, which tries a variant and holds {path}"
            raise error_for(Failure("timeout", what, advice=_AGAIN))
        file.truncate(0)
        file.write(f"process {os.getpid()} of {platform.node()}".encode())
        yield
