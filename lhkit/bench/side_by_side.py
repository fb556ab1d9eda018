"""Measuring kernels side by side: one worker, one core, rounds in random order until a budget is spent."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lhkit.kernels.argument_marshalling import pack_arguments, result_places
from lhkit.kernels.bound_arguments import all_arguments, shared_bindings
from lhkit.kernels.kernel import Kernel
from lhkit.kernels.verification import payload_work, verify
from lhkit.load.random_inputs import default_arguments
from lhkit.load.target_choice import code_has_fma, code_vector_bits, describe_environment
from lhkit.model.errors import CrashError, Failure, public, usage_error
from lhkit.model.measurement import CacheState, Comparison, CoreLimits, Measurement, Verification
from lhkit.model.sample_statistics import median_interval
from lhkit.model.signature import Function
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import CallSetup, PrepareTiming, ReleaseTiming, TimeRound, WarmUp
from lhkit.worker.limits import Limits
from lhkit.worker.shared_arrays import Packing, dtype_named

# The widths of intervals are not checked before so many rounds; a budget may end it earlier.
_FEW_ROUNDS = 11
_LEAST_ROUNDS = 5
_NARROW = 0.01

Progress = Callable[[int, int], None]


class Outsider(Protocol):
    """An entry sampled beside kernels in a process of its own; ``failure`` says why it ended early."""

    name: str
    failure: Failure | None

    def warm_up(self, batch_ns: int, core: int | None) -> tuple[int, bool]:
        """Return how many calls make a batch, and whether times settled."""

    def sample(self, number: int) -> float | None:
        """Return the time of one call in ns in the round of that number; None if there is none any more."""

    def measurement(self, samples_ns: Sequence[tuple[int, float]], calls: int, is_stable: bool) -> Measurement:
        """Return the entry of a comparison that these samples make."""


@dataclass(slots=True)
class Sampling:
    """One set of calls in a worker, from preparation to the last sample.

    Attributes:
        calls: How many calls make a batch of each entry.
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
        self, batch_ns: int, rounds: int, seconds: float, seed: int, progress: Progress | None = None
    ) -> None:
        """Take all samples of prepared calls, to the last round; then the worker forgets the calls."""
        try:
            self._warm_up(batch_ns)
            self._run(rounds, seconds, random.Random(seed), progress)
        finally:
            self._release()

    def prepare(
        self,
        kernels: Mapping[str, Kernel],
        inputs: Sequence[NDArray[Any]],
        cache: CacheState = "warm",
        alignment_bytes: int = 64,
        pin: bool = True,
        from_python: bool = False,
    ) -> None:
        """Have the worker set up all calls."""
        targets = {kernel.target for kernel in kernels.values()}
        arithmetic = max(map(code_vector_bits, targets)), any(map(code_has_fma, targets))
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
                    alignment_bytes,
                )
                entries = tuple(numbers.get(name, reference) for name in self.names[: self._inside])
                request = PrepareTiming(entries, setup, cache, pin, *arithmetic, from_python)
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
        requests = [WarmUp(self._timing, index, batch_ns) for index in range(self._inside)]
        answers = [self.worker.ask(request, limits=self.limits) for request in requests]
        settled = [(answer.calls, answer.stable) for answer in answers]
        settled += [outsider.warm_up(batch_ns, self.core) for outsider in self.outsiders]
        self.calls, self.stable = [calls for calls, _ in settled], [is_stable for _, is_stable in settled]
        self.samples = [[] for _ in self.names]

    @property
    def _inside(self) -> int:
        """The number of entries that the worker samples."""
        return len(self.names) - len(self.outsiders)

    def _run(self, rounds: int, seconds: float, order: random.Random, progress: Progress | None) -> None:
        """Sample in rounds, a request each, until ratios are narrow or the budget is used up.

        Every entry has the same share of the seconds, and sits out when it has used it and was sampled a few
        times: a slow one must not leave the others with too few samples.
        """
        share_ns = 1e9 * seconds / len(self.names)
        for number in range(max(rounds, 1)):
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
                progress(number + 1, rounds)

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
        ratios = ([anchor[n] / value for n, value in self.samples[i] if n in anchor] for i in active)
        return all((r.high - r.low) / 2 <= _NARROW * r.middle for r in map(median_interval, ratios))

    def core_limits(self) -> CoreLimits:
        """Return the medians of the limits that were sampled in each round."""
        names = ("fma_gflops", "fma_f64_gflops", "copy_gbytes", "read_gbytes")
        return CoreLimits(*(statistics.median(s[name] for s in self._limit_samples) for name in names))

    def _release(self) -> None:
        """Let the worker forget the calls, if it still is the same process."""
        if self.worker.pid is not None and self._generation == self.worker.generation:
            self.worker.ask(ReleaseTiming(self._timing), limits=self.limits)


REFERENCE_NAME = "NumPy"
DEFAULT_ROUNDS = 40
DEFAULT_SECONDS = 10.0
_BATCH_NS = 5_000_000
_SHORT_BATCH_NS = 500_000
_MOST_ALIGNMENT_BYTES = 1 << 21


@public
def measure(
    kernels: Mapping[str, Kernel],
    arguments: Sequence[NDArray[Any]] | None = None,
    *,
    rounds: int | None = None,
    seconds: float | None = None,
    cache: CacheState = "warm",
    alignment_bytes: int = 64,
    pin: bool = True,
    from_python: bool = False,
    seed: int = 0,
    limits: Limits | None = None,
    progress: Progress | None = None,
    outsiders: Sequence[Outsider] = (),
) -> Comparison:
    """Verify kernels of one payload and time them, interleaved, beside the NumPy reference if there is one.

    Each entry is calibrated (a sample is the mean of a batch of calls of 5 ms or more, repeated in machine
    code) and repeated until its times settle. In every round each entry is then sampled once, in an order
    drawn again, and so are the limits of the core. All share the same arguments, on one core, with Python's
    garbage collector off. Rounds in which another process of this machine was timing too are marked. The
    rounds end when every ratio to the anchor is known to ±1 %, or when a budget is used up. A NumPy
    reference can only be called from Python, which is part of what it costs.

    Args:
        kernels: What to measure, by the name to show; all of one payload and in one worker.
        arguments: What to run them on; drawn from the seed if not given. What a kernel has bound replaces it.
        rounds: How many samples of each, at most; 40 if neither this nor ``seconds`` is given.
        seconds: How long to sample, 10 if not given; each entry has the same share of it, and five samples in
            any case.
        cache: ``warm``: each call finds its data where the one before left it. ``cold``: the caches are
            emptied before each call, and calls are timed one by one.
        alignment_bytes: Buffers start at odd multiples of this power of two: 64 is a cache line, 4096 a page,
            4 is misaligned for vectors.
        pin: Whether to stay on one core.
        from_python: Whether kernels are called from Python too, as NumPy and other programs are, so that what
            a call costs is part of their times: some 0.13 µs, which counts below 10 µs.
        seed: What order and arguments are drawn from.
        limits: Time and memory for each request, such as a round.
        progress: Called after each round with (rounds done, most rounds).
        outsiders: What is sampled in the same rounds in processes of its own, on the same core; its results
            were checked before. One whose process dies is not among the measurements; its ``failure`` says why.

    Returns:
        All samples; the anchor of ratios is NumPy if there is a reference, else the first kernel.

    Raises:
        UsageError: Nothing to measure, kernels that cannot be compared, or an alignment that cannot be.
    """
    first = _checked(kernels)
    _check_alignment(alignment_bytes, first.function)
    inputs = _inputs(kernels, arguments or default_arguments(first.payload, first.function, seed))
    verdicts = {name: verify(kernel, inputs) for name, kernel in kernels.items()}
    names = [*([REFERENCE_NAME] if first.payload.reference is not None else []), *kernels]
    names += [outsider.name for outsider in outsiders]
    work = payload_work(first.origin, first.function.name, [a.shape for a in inputs], first.worker)
    sampling = Sampling(first.worker, names, limits, outsiders)
    sampling.prepare(kernels, inputs, cache, alignment_bytes, pin, from_python)
    most, budget = _most_rounds(rounds, seconds, len(names)), seconds or DEFAULT_SECONDS
    sampling.take(_BATCH_NS, most, budget, seed, progress)
    return Comparison(
        payload=first.origin.source,
        payload_sha256=first.origin.sha256,
        measurements=_measurements(kernels, verdicts, sampling, cache, from_python),
        anchor=names[0],
        rounds=max(len(samples) for samples in sampling.samples),
        seed=seed,
        environment=describe_environment(first.worker, [kernel.target for kernel in kernels.values()]),
        limits=sampling.core_limits(),
        flops=work.flops,
        bytes=work.bytes,
        element_type=_element_type(first.function),
        cache=cache,
        alignment_bytes=alignment_bytes,
        core=sampling.core,
    )


def _most_rounds(rounds: int | None, seconds: float | None, entries: int) -> int:
    """Return how many rounds there may be: as many as asked for, else as fit into the seconds, else a few."""
    if rounds is not None or seconds is None:
        return rounds or DEFAULT_ROUNDS
    return max(math.ceil(1e9 * seconds / entries / _BATCH_NS), _LEAST_ROUNDS)


def fastest_ns(kernels: Mapping[str, Kernel], *, rounds: int = 40, seed: int = 0) -> dict[str, float]:
    """Return the time of the fastest batch of calls of each kernel, all sampled in the same rounds.

    For a yes or no on a machine that is doing other things: a batch lasts half a millisecond, so that some
    are over before anything else takes the core, and whatever gets in the way only makes others slower. It
    tells large differences; `measure` says how large they are, and how sure that is.
    """
    first = _checked(kernels)
    inputs = _inputs(kernels, default_arguments(first.payload, first.function, seed))
    sampling = Sampling(first.worker, list(kernels), None)
    sampling.prepare(kernels, inputs)
    sampling.take(_SHORT_BATCH_NS, rounds, DEFAULT_SECONDS, seed)
    return {name: min(ns for _, ns in sampling.samples[i]) for i, name in enumerate(kernels)}


def _measurements(
    kernels: Mapping[str, Kernel],
    verdicts: Mapping[str, Verification],
    sampling: Sampling,
    cache: CacheState,
    from_python: bool,
) -> tuple[Measurement, ...]:
    """Return the entries of the worker, then those of other processes that did not fail."""
    inside = len(sampling.names) - len(sampling.outsiders)
    measured = [_measurement(i, kernels, verdicts, sampling, cache, from_python) for i in range(inside)]
    for i, outsider in enumerate(sampling.outsiders, inside):
        if outsider.failure is None:
            samples = sampling.samples[i], sampling.calls[i], sampling.stable[i]
            measured.append(outsider.measurement(*samples))
    return tuple(measured)


def _inputs(kernels: Mapping[str, Kernel], arguments: Sequence[Any]) -> list[NDArray[Any]]:
    """Return what kernels are measured on: these arguments, but what a kernel has bound."""
    bound = shared_bindings([kernel.bound for kernel in kernels.values()])
    count = len(next(iter(kernels.values())).function.arguments)
    return [np.asarray(a) for a in all_arguments(bound, arguments, count)]


def _measurement(
    index: int,
    kernels: Mapping[str, Kernel],
    verdicts: Mapping[str, Verification],
    sampling: Sampling,
    cache: CacheState,
    from_python: bool,
) -> Measurement:
    name = sampling.names[index]
    kernel = kernels.get(name)
    is_native = kernel and not from_python and all(t.is_static for t in kernel.function.results)
    return Measurement(
        name=name,
        samples_ns=tuple(sampling.samples[index]),
        knobs=tuple(kernel.schedule_values.items()) if kernel else (),
        schedule_sha256=kernel.schedule.sha256 if kernel and kernel.schedule else None,
        compile_ns=kernel.compile_ns if kernel else None,
        verification=verdicts.get(name),
        calls=sampling.calls[index] if cache == "warm" else 1,
        timed_by="machine code" if is_native else "Python",
        is_stable=sampling.stable[index],
        disturbed_rounds=tuple(n for n, _ in sampling.samples[index] if n in sampling.disturbed),
    )


def _checked(kernels: Mapping[str, Kernel]) -> Kernel:
    """Return the first kernel, if all can be compared."""
    if not kernels:
        raise usage_error("there is nothing to measure")
    if not isinstance(kernels, Mapping) or not all(isinstance(k, Kernel) for k in kernels.values()):
        advice = 'Write lhkit.measure({"mine": lhkit.compile(payload, schedule)}).'
        raise usage_error("what is measured are kernels with names", advice)
    first = next(iter(kernels.values()))
    origins = {k.origin.sha256 for k in kernels.values()}
    if len(origins) > 1 or any(k.worker is not first.worker for k in kernels.values()):
        raise usage_error("kernels of different payloads or workers cannot be compared")
    if any(k.function.name != first.function.name for k in kernels.values()):
        raise usage_error("kernels of different functions cannot be compared")
    if REFERENCE_NAME in kernels:
        raise usage_error(f"{REFERENCE_NAME!r} is the name of the reference", "Give the kernel another name.")
    return first


def _check_alignment(alignment_bytes: int, function: Function) -> None:
    sizes = [dtype_named(t.dtype).itemsize for t in (*function.arguments, *function.results)]
    least = max(sizes, default=1)
    is_power = alignment_bytes > 0 and alignment_bytes & (alignment_bytes - 1) == 0
    if not is_power or not least <= alignment_bytes <= _MOST_ALIGNMENT_BYTES:
        advice = f"It is a power of two from {least} (the largest element) to {_MOST_ALIGNMENT_BYTES}."
        raise usage_error(f"buffers cannot be aligned to {alignment_bytes} bytes", advice)


def _element_type(function: Function) -> str | None:
    """Return the one float type of arguments and results, or None."""
    types = {t.dtype for t in (*function.arguments, *function.results) if "float" in t.dtype}
    return types.pop() if len(types) == 1 else None
