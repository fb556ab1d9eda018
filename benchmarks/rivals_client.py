"""Rivals from the client's side: processes, prepared tasks, and the fastest setting."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rival_process import PrepareRival, SampleRival, WarmUpRival
from benchmarks.suite import ChosenSetting, LeftOut, Rival, RivalTask, TriedSetting
from lhkit.model.errors import Failure, LhkitError
from lhkit.model.measurement import Measurement, Verification
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.requests import AnswerType, Request
from lhkit.worker.shared_arrays import Packing, array_of_content

Array = NDArray[Any]

PROGRAM = "benchmarks.rival_process"
# Compilers that try many variants take long for one of them.
_LIMITS = Limits(seconds=300.0, bytes=8 << 30)
# Threads of pools spin before they sleep, OpenBLAS's for 2^26 cycles, and would take the cores of others.
_REST_SECONDS = 0.05


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
        threads: How many threads it has.
    """

    def __init__(self, rival: Rival, *, threads: int = 1, limits: Limits | None = None) -> None:
        self.rival = rival
        self.threads = threads
        self.worker = Worker(
            limits or _LIMITS, threads=threads, program=PROGRAM, title=f"the process of {rival.name}"
        )

    def prepare(
        self, task: RivalTask, arguments: Sequence[Array], *, alignment_bytes: int = 64
    ) -> tuple[PreparedRival, tuple[Array, ...]]:
        """Have a task prepared, and return what times it, and its results."""
        packing = Packing(self.worker.files)
        try:
            places = tuple(packing.add(np.asarray(a)) for a in arguments)
            answer = self.worker.ask(PrepareRival(self.rival.place, task, places, alignment_bytes))
        finally:
            packing.release()
        results = tuple(array_of_content(place) for place in answer.results)
        return PreparedRival(self, answer.compile_ns), results

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
        self._rest_seconds = _REST_SECONDS if process.threads > 1 else 0.0
        self._disturbed: list[int] = []

    def warm_up(self, batch_ns: int, core: int | None) -> tuple[int, bool]:
        """Return how many calls make a batch, and whether times settled; see `TimedCall.warm_up`."""
        self._core = core
        answer = self._ask(WarmUpRival(batch_ns, core))
        return (1, False) if answer is None else (answer.calls, answer.stable)

    def sample(self, number: int) -> float | None:
        """Return the time of one call in ns in the round of that number; None if there is none any more."""
        answer = self._ask(SampleRival(number, self._core))
        time.sleep(self._rest_seconds)
        if answer is None:
            return None
        if answer.is_disturbed:
            self._disturbed.append(number)
        return answer.ns

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

    def _ask(self, request: Request[AnswerType]) -> AnswerType | None:
        """Return the answer to a request; None if it failed now or before, for the reason in ``failure``."""
        if self.failure is not None:
            return None
        try:
            return self._worker.ask(request)
        except LhkitError as error:
            self.failure = error.failure
            return None


Judge = Callable[[Sequence[Array]], Verification]

# The round decides between settings that differ by more than its noise; others are as good.
_SAMPLES, _BATCH_NS = 7, 10_000_000


def prepare_fastest(
    process: RivalProcess,
    task: RivalTask,
    arguments: Sequence[Array],
    judge: Judge,
    known: ChosenSetting | None = None,
) -> tuple[PreparedRival | LeftOut, ChosenSetting | None]:
    """Have a task prepared in the fastest setting that is right, and return what times it, and the choice.

    Settings are tried one after the other, since a process holds one task. One that does not compile, is wrong
    or dies is recorded with the reason. One that is ``known`` to be the fastest is taken without a trial.

    Returns:
        The prepared rival, or why there is none; and which setting it has, None for a rival without settings.
    """
    names = _settings(process.rival, task.family)
    if not names:
        return _prepared(process, task, arguments, judge), None
    if known is not None and known.setting:
        return _prepared(process, dataclasses.replace(task, setting=known.setting), arguments, judge), known
    tried: list[TriedSetting] = []
    found: dict[str, PreparedRival] = {}
    failures: list[LeftOut] = []
    for name in names:
        prepared = _prepared(process, dataclasses.replace(task, setting=name), arguments, judge)
        if isinstance(prepared, PreparedRival):
            median = prepared.median_ns(_SAMPLES, _BATCH_NS)
            if prepared.failure is None:
                found[name] = prepared
                tried.append(TriedSetting(name, median))
                continue
            prepared = LeftOut(prepared.name, prepared.failure.kind, prepared.failure.message)
        failures.append(prepared)
        tried.append(TriedSetting(name, None, prepared.message))
    if not found:
        return failures[0], ChosenSetting(process.rival.name, "", tuple(tried))
    fastest = min((t for t in tried if t.median_ns is not None), key=lambda t: t.median_ns or 0.0).name
    chosen = ChosenSetting(process.rival.name, fastest, tuple(tried))
    if fastest == names[-1]:
        return found[fastest], chosen
    again = _prepared(process, dataclasses.replace(task, setting=fastest), arguments, judge)
    if isinstance(again, PreparedRival):
        again.compile_ns = found[fastest].compile_ns  # the second time much may be cached
    return again, chosen


def _settings(rival: Rival, family: str) -> list[str]:
    return [s.name for s in rival.settings if not s.families or family in s.families]


def _prepared(
    process: RivalProcess, task: RivalTask, arguments: Sequence[Array], judge: Judge
) -> PreparedRival | LeftOut:
    name = process.rival.name
    try:
        prepared, results = process.prepare(task, arguments)
    except LhkitError as error:
        return LeftOut(name, error.failure.kind, error.failure.message.strip().partition("\n")[0])
    prepared.verification = judge(results)
    if prepared.verification.ok:
        return prepared
    return LeftOut(name, "wrong-result", prepared.verification.difference or "its result is wrong")
