"""Measuring kernels side by side: one worker, one core, rounds in random order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.bench.sampler import Budget, Conditions, Outsider, Progress, Sampling
from lhkit.kernels.kernel import Kernel
from lhkit.kernels.verification import payload_work, verify
from lhkit.load.environment import describe_environment
from lhkit.load.random_inputs import default_arguments
from lhkit.load.target_choice import code_has_fma, code_vector_bits
from lhkit.model.errors import public, usage_error
from lhkit.model.measurement import CacheState, Comparison, Measurement, Verification
from lhkit.model.signature import Function
from lhkit.worker.limits import Limits
from lhkit.worker.shared_arrays import dtype_named

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
    rounds: int = DEFAULT_ROUNDS,
    seconds: float = DEFAULT_SECONDS,
    cache: CacheState = "warm",
    alignment_bytes: int = 64,
    pin: bool = True,
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
        arguments: What to run them on; drawn from the seed if not given.
        rounds: How many samples of each, at most.
        seconds: How long to sample; each entry has the same share of it, and five samples in any case.
        cache: ``warm``: each call finds its data where the one before left it. ``cold``: the caches are
            emptied before each call, and calls are timed one by one.
        alignment_bytes: Buffers start at odd multiples of this power of two: 64 is a cache line, 4096 a page,
            4 is misaligned for vectors.
        pin: Whether to stay on one core.
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
    inputs = [np.asarray(a) for a in arguments or default_arguments(first.payload, first.function, seed)]
    verdicts = {name: verify(kernel, inputs) for name, kernel in kernels.items()}
    names = [*([REFERENCE_NAME] if first.payload.reference is not None else []), *kernels]
    names += [outsider.name for outsider in outsiders]
    conditions = Conditions(alignment_bytes, pin, *_arithmetic(kernels), cache)
    work = payload_work(first.payload, first.function.name, [a.shape for a in inputs], first.worker)
    sampling = Sampling(first.worker, names, limits, outsiders)
    budget, order = Budget(rounds, seconds), random.Random(seed)
    sampling.take(
        kernels,
        inputs,
        conditions=conditions,
        batch_ns=_BATCH_NS,
        budget=budget,
        order=order,
        progress=progress,
    )
    inside = len(names) - len(outsiders)
    measurements = tuple(_measurement(i, kernels, verdicts, sampling, cache) for i in range(inside))
    measurements += tuple(
        outsider.measurement(sampling.samples[i], sampling.calls[i], sampling.stable[i])
        for i, outsider in enumerate(outsiders, inside)
        if outsider.failure is None
    )
    return Comparison(
        payload=first.payload.source,
        payload_sha256=first.payload.sha256,
        measurements=measurements,
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


def fastest_ns(kernels: Mapping[str, Kernel], *, rounds: int = 40, seed: int = 0) -> dict[str, float]:
    """Return the time of the fastest batch of calls of each kernel, all sampled in the same rounds.

    For a yes or no on a machine that is doing other things: a batch lasts half a millisecond, so that some
    are over before anything else takes the core, and whatever gets in the way only makes others slower. It
    tells large differences; `measure` says how large they are, and how sure that is.
    """
    first = _checked(kernels)
    inputs = [np.asarray(a) for a in default_arguments(first.payload, first.function, seed)]
    sampling = Sampling(first.worker, list(kernels), None)
    conditions = Conditions(64, True, *_arithmetic(kernels))
    budget, order = Budget(rounds, DEFAULT_SECONDS), random.Random(seed)
    sampling.take(kernels, inputs, conditions=conditions, batch_ns=_SHORT_BATCH_NS, budget=budget, order=order)
    return {name: min(ns for _, ns in sampling.samples[i]) for i, name in enumerate(kernels)}


def _measurement(
    index: int,
    kernels: Mapping[str, Kernel],
    verdicts: Mapping[str, Verification],
    sampling: Sampling,
    cache: CacheState,
) -> Measurement:
    name = sampling.names[index]
    kernel = kernels.get(name)
    return Measurement(
        name=name,
        samples_ns=tuple(sampling.samples[index]),
        knobs=tuple(kernel.schedule_values.items()) if kernel else (),
        schedule_sha256=kernel.schedule.sha256 if kernel and kernel.schedule else None,
        compile_ns=kernel.compile_ns if kernel else None,
        verification=verdicts.get(name),
        calls=sampling.calls[index] if cache == "warm" else 1,
        timed_by="machine code" if kernel and all(t.is_static for t in kernel.function.results) else "Python",
        is_stable=sampling.stable[index],
        disturbed_rounds=tuple(n for n, _ in sampling.samples[index] if n in sampling.disturbed),
    )


def _arithmetic(kernels: Mapping[str, Kernel]) -> tuple[int, bool]:
    """Return the widest vectors that a kernel computes with, and whether one has fused multiply-adds."""
    targets = {kernel.target for kernel in kernels.values()}
    return max(map(code_vector_bits, targets)), any(map(code_has_fma, targets))


def _checked(kernels: Mapping[str, Kernel]) -> Kernel:
    """Return the first kernel, if all can be compared."""
    if not kernels:
        raise usage_error("there is nothing to measure")
    first = next(iter(kernels.values()))
    if any(k.payload.sha256 != first.payload.sha256 or k.worker is not first.worker for k in kernels.values()):
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
