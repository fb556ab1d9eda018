"""Rivals from the client's side: whether they are installed, their processes, and one prepared task each."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.model.errors import Failure, LhkitError
from lhkit.model.measurement import Measurement, Verification
from lhkit.suite.rival import Rival, RivalTask
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.shared_arrays import Packing, arrays_in

Array = NDArray[Any]

PROGRAM = "lhkit.suite.rival_process"
# Compilers that try many variants take long for one of them.
_LIMITS = Limits(seconds=300.0, bytes=8 << 30)


def is_installed(rival: Rival) -> bool:
    """Return whether a rival is there, without loading it."""
    try:
        return importlib.util.find_spec(rival.module) is not None
    except ModuleNotFoundError:
        return False


def version_of(rival: Rival) -> str:
    """Return the version of a rival that is installed."""
    try:
        return importlib.metadata.version(rival.distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


class RivalProcess:
    """A rival and its process, which starts at the first need and again after a death.

    Attributes:
        rival: The rival.
        worker: Its process.
    """

    def __init__(self, rival: Rival, *, threads: int = 1, limits: Limits | None = None) -> None:
        self.rival = rival
        self.worker = Worker(
            limits or _LIMITS, threads=threads, program=PROGRAM, title=f"the process of {rival.name}"
        )

    def prepare(
        self, task: RivalTask, arguments: Sequence[Array], *, alignment_bytes: int = 64
    ) -> tuple[PreparedRival, tuple[Array, ...]]:
        """Have a task prepared, and return what times it, and its results.

        Raises:
            LhkitError: The rival does not know the task, raised an exception, or died.
        """
        packing = Packing(self.worker.files)
        try:
            fields = {
                "place": self.rival.place,
                "family": task.family,
                "text": task.text,
                "function": task.function,
                "threads": task.threads,
                "setting": task.setting,
                "arguments": [packing.add(np.asarray(a)) for a in arguments],
                "alignment_bytes": alignment_bytes,
                "core": None,
            }
            answer = self.worker.request("prepare", fields, packing.body)
        finally:
            packing.release()
        results = tuple(arrays_in(answer.body, answer.header["results"]))
        return PreparedRival(self, int(answer.header["compile_ns"])), results

    def close(self) -> None:
        """End the process."""
        self.worker.close()


class PreparedRival:
    """A task that a rival has prepared, to be sampled beside kernels.

    Attributes:
        name: What the rival is called.
        verification: Its results against the reference.
        failure: Why it could not be sampled to the end, or None.
        compile_ns: How long it took until a call could be repeated.
    """

    def __init__(self, process: RivalProcess, compile_ns: int) -> None:
        self.name = process.rival.name
        self.verification: Verification | None = None
        self.failure: Failure | None = None
        self._worker = process.worker
        self.compile_ns = compile_ns
        self._core: int | None = None
        self._disturbed: list[int] = []

    def warm_up(self, batch_ns: int, core: int | None) -> tuple[int, bool]:
        """Return how many calls make a batch, and whether times settled; see `TimedCall.warm_up`."""
        self._core = core
        answer = self._ask("warm_up", {"batch_ns": batch_ns, "core": core})
        return (1, False) if answer is None else (int(answer["calls"]), bool(answer["stable"]))

    def sample(self, number: int) -> float | None:
        """Return the time of one call in ns in the round of that number; None if there is none any more."""
        answer = self._ask("sample", {"round": number, "core": self._core})
        if answer is None:
            return None
        if answer["is_disturbed"]:
            self._disturbed.append(number)
        return float(answer["ns"])

    def median_ns(self, samples: int, batch_ns: int) -> float | None:
        """Return the median time of a call over a few batches, on any core; None if it failed meanwhile."""
        self.warm_up(batch_ns, None)
        times = [self.sample(number) for number in range(samples)]
        self._disturbed.clear()
        known = [ns for ns in times if ns is not None]
        return statistics.median(known) if known and self.failure is None else None

    def measurement(self, samples_ns: Sequence[tuple[int, float]], calls: int, is_stable: bool) -> Measurement:
        """Return the entry of a comparison that these samples make."""
        return Measurement(
            name=self.name,
            samples_ns=tuple(samples_ns),
            compile_ns=self.compile_ns,
            verification=self.verification,
            calls=calls,
            timed_by="Python",
            is_stable=is_stable,
            disturbed_rounds=tuple(self._disturbed),
        )

    def _ask(self, name: str, fields: dict[str, Any]) -> dict[str, Any] | None:
        """Return the header of an answer; None if it failed now or before, for the reason in ``failure``."""
        if self.failure is not None:
            return None
        try:
            return self._worker.request(name, fields).header
        except LhkitError as error:
            self.failure = error.failure
            return None
