"""Sampling in a worker: preparation, warm-up, and rounds until the budget is spent."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from lhkit.kernels.argument_marshalling import pack_arguments, result_places
from lhkit.kernels.kernel import Kernel
from lhkit.model.errors import CrashError, Failure
from lhkit.model.measurement import CacheState, CoreLimits, Measurement
from lhkit.model.sample_statistics import median_interval
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import CallSetup, PrepareTiming, ReleaseTiming, TimeRound, WarmUp
from lhkit.worker.limits import Limits
from lhkit.worker.shared_arrays import Packing

# The widths of intervals are not checked before so many rounds; a budget may end it earlier.
_FEW_ROUNDS = 11
_LEAST_ROUNDS = 5
_NARROW = 0.01

Progress = Callable[[int, int], None]


class Outsider(Protocol):
    """An entry that is sampled beside kernels in a process of its own.

    Attributes:
        name: What it is called.
        failure: Why it could not be sampled to the end, or None.
    """

    name: str
    failure: Failure | None

    def warm_up(self, batch_ns: int, core: int | None) -> tuple[int, bool]:
        """Return how many calls make a batch, and whether times settled."""

    def sample(self, number: int) -> float | None:
        """Return the time of one call in ns in the round of that number; None if there is none any more."""

    def measurement(self, samples_ns: Sequence[tuple[int, float]], calls: int, is_stable: bool) -> Measurement:
        """Return the entry of a comparison that these samples make."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What calls are timed under; see `lhkit.measure` and `PrepareTiming`."""

    alignment_bytes: int
    pin: bool
    vector_bits: int
    has_fma: bool
    cache: CacheState = "warm"


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many rounds and seconds."""

    rounds: int
    seconds: float


@dataclass(slots=True)
class Sampling:
    """One set of calls in a worker, from preparation to the last sample.

    Attributes:
        worker: Where they run.
        names: What each entry is called, those outside of the worker last.
        limits: Time and memory of each request.
        outsiders: What is sampled in the same rounds in other processes.
        core: The core that they are pinned to, or None.
        calls: How many calls make a batch of each entry.
        stable: Whether the times of each entry settled in the warm-up.
        samples: The samples of each entry as (round, ns).
        disturbed: The rounds in which another process was timing on this machine.
    """

    worker: Worker
    names: list[str]
    limits: Limits | None
    outsiders: Sequence[Outsider] = ()
    core: int | None = None
    calls: list[int] = field(default_factory=list)
    stable: list[bool] = field(default_factory=list)
    samples: list[list[tuple[int, float]]] = field(default_factory=list)
    disturbed: list[int] = field(default_factory=list)
    _limit_samples: list[Mapping[str, float]] = field(default_factory=list)
    _timing: int = 0
    _generation: int = -1

    def take(
        self,
        kernels: Mapping[str, Kernel],
        inputs: Sequence[NDArray[Any]],
        *,
        conditions: Conditions,
        batch_ns: int,
        budget: Budget,
        order: random.Random,
        progress: Progress | None = None,
    ) -> None:
        """Take all samples, from preparation to the last round; then the worker forgets the calls.

        Args:
            kernels: What is called, by the name of its entry.
            inputs: What it is called with.
            conditions: What calls are timed under.
            batch_ns: How long a sample takes, at least.
            budget: When the rounds end.
            order: Draws the order of each round.
            progress: Called after each round with (rounds done, most rounds).
        """
        self._prepare(kernels, inputs, conditions)
        try:
            self._warm_up(batch_ns)
            self._run(budget, order, progress)
        finally:
            self._release()

    def _prepare(
        self, kernels: Mapping[str, Kernel], inputs: Sequence[NDArray[Any]], conditions: Conditions
    ) -> None:
        """Have the worker set up all calls."""
        first = next(iter(kernels.values()))
        types, reference = first.function.arguments, first.payload.reference or ""
        for _ in range(2):
            numbers = {name: kernel.build() for name, kernel in kernels.items()}
            packing = Packing(self.worker.files)
            try:
                setup = CallSetup(
                    tuple(place for place, _ in pack_arguments(packing, inputs, types)),
                    result_places(first.function.results),
                    tuple(t.kind == "memref" for t in types),
                    conditions.alignment_bytes,
                )
                request = PrepareTiming(
                    tuple(numbers.get(name, reference) for name in self.names[: self._inside]),
                    setup,
                    conditions.cache,
                    conditions.pin,
                    conditions.vector_bits,
                    conditions.has_fma,
                )
                answer = self.worker.ask(request, limits=self.limits)
            finally:
                packing.release()
            if not answer.is_gone:
                self._timing, self.core = answer.timing, answer.core
                self._generation = self.worker.generation
                return
            for kernel in kernels.values():
                kernel.forget()
        message = f"the worker does not hold {len(kernels)} kernels at once"
        raise CrashError(Failure(kind="crash", message=message, advice="Measure fewer of them side by side."))

    def _warm_up(self, batch_ns: int) -> None:
        """Calibrate and warm up every entry, a request each."""
        for index in range(self._inside):
            answer = self.worker.ask(WarmUp(self._timing, index, batch_ns), limits=self.limits)
            self.calls.append(answer.calls)
            self.stable.append(answer.stable)
        for outsider in self.outsiders:
            calls, is_stable = outsider.warm_up(batch_ns, self.core)
            self.calls.append(calls)
            self.stable.append(is_stable)
        self.samples = [[] for _ in self.names]

    @property
    def _inside(self) -> int:
        """The number of entries that the worker samples."""
        return len(self.names) - len(self.outsiders)

    def _run(self, budget: Budget, order: random.Random, progress: Progress | None) -> None:
        """Sample in rounds, a request each, until ratios are narrow or the budget is used up.

        Every entry has the same share of the seconds, and sits out when it has used it and was sampled a few
        times: a slow one must not leave the others with too few samples.
        """
        share_ns = 1e9 * budget.seconds / len(self.names)
        for number in range(max(budget.rounds, 1)):
            active = [i for i, _ in enumerate(self.names) if self._goes_on(i, share_ns)]
            if not active or (number >= _FEW_ROUNDS and self._are_narrow(active)):
                return
            indices = order.sample(active, len(active))
            outside = [i for i in indices if i >= self._inside]
            # The worker has its turn among the other processes.
            turn = order.randint(0, len(outside)) if outside else 0
            self._sample_outsiders(outside[:turn], number)
            self._sample_inside([i for i in indices if i < self._inside], number)
            self._sample_outsiders(outside[turn:], number)
            if progress is not None:
                progress(number + 1, budget.rounds)

    def _sample_inside(self, indices: Sequence[int], number: int) -> None:
        request = TimeRound(self._timing, tuple(indices), number, tuple(self.names))
        answer = self.worker.ask(request, limits=self.limits)
        for index, value in answer.samples_ns:
            self.samples[index].append((number, value))
        self._limit_samples.append(answer.limits)
        if answer.is_disturbed:
            self.disturbed.append(number)

    def _sample_outsiders(self, indices: Sequence[int], number: int) -> None:
        for index in indices:
            value = self.outsiders[index - self._inside].sample(number)
            if value is not None:
                self.samples[index].append((number, value))

    def _goes_on(self, index: int, share_ns: float) -> bool:
        if index >= self._inside and self.outsiders[index - self._inside].failure is not None:
            return False
        values = [value for _, value in self.samples[index]]
        return len(values) < _LEAST_ROUNDS or sum(values) * self.calls[index] < share_ns

    def _are_narrow(self, active: Sequence[int]) -> bool:
        anchor = dict(self.samples[0])
        for index in active:
            ratios = [anchor[n] / value for n, value in self.samples[index] if n in anchor]
            ratio = median_interval(ratios)
            if (ratio.high - ratio.low) / 2 > _NARROW * ratio.middle:
                return False
        return True

    def core_limits(self) -> CoreLimits:
        """Return the medians of the limits that were sampled in each round."""
        names = ("fma_gflops", "fma_f64_gflops", "copy_gbytes")
        return CoreLimits(*(statistics.median(s[name] for s in self._limit_samples) for name in names))

    def _release(self) -> None:
        """Let the worker forget the calls, if it still is the same process."""
        if self.worker.pid is not None and self._generation == self.worker.generation:
            self.worker.ask(ReleaseTiming(self._timing), limits=self.limits)
