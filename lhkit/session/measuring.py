"""Measuring kernels side by side: one worker, one run, rounds in random order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison, Measurement
from lhkit.session.environment import describe_environment
from lhkit.session.inputs import generate_arguments
from lhkit.session.kernels import Kernel
from lhkit.session.passing import pack_arguments
from lhkit.session.verifying import verify
from lhkit.worker.arrays import Packing

REFERENCE_NAME = "NumPy"
_TARGET_NS = 20_000_000

Progress = Callable[[int, int], None]


def measure(
    kernels: Mapping[str, Kernel],
    arguments: Sequence[NDArray[Any]] | None = None,
    *,
    rounds: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Verify kernels of one payload and time them, interleaved, beside the NumPy reference if there is one.

    A sample is the mean of a batch of calls of about 20 ms, with arguments in place and one thread.
    In every round each entry is sampled once, in an order drawn anew.

    Args:
        kernels: What to measure, by the name to show; all of one payload and in one worker.
        arguments: What to run them on; drawn from the seed if not given.
        rounds: How many samples of each.
        seed: What order and arguments are drawn from.
        progress: Called after each round with (rounds done, rounds in all).

    Returns:
        All samples; the anchor of ratios is NumPy if there is a reference, else the first kernel.
    """
    if not kernels:
        raise usage_error("there is nothing to measure")
    first = next(iter(kernels.values()))
    if any(k.payload.sha256 != first.payload.sha256 or k.worker is not first.worker for k in kernels.values()):
        raise usage_error("kernels of different payloads or workers cannot be compared")
    inputs = list(arguments) if arguments is not None else generate_arguments(first.function, seed)
    verdicts = {name: verify(kernel, inputs) for name, kernel in kernels.items()}
    has_reference = first.payload.reference is not None
    names = [*([REFERENCE_NAME] if has_reference else []), *kernels]
    samples = _sample(kernels, inputs, names, rounds, random.Random(seed), progress)
    measurements = [
        Measurement(
            name=name,
            samples_ns=tuple(samples[i]),
            knobs=tuple(kernels[name].schedule_values.items()) if name in kernels else (),
            schedule_sha256=_schedule_sha256(kernels.get(name)),
            compile_ns=kernels[name].compile_ns if name in kernels else None,
            verification=verdicts.get(name),
        )
        for i, name in enumerate(names)
    ]
    return Comparison(
        payload=first.payload.source,
        payload_sha256=first.payload.sha256,
        measurements=tuple(measurements),
        anchor=names[0],
        rounds=rounds,
        seed=seed,
        environment=describe_environment(first.worker),
    )


def _schedule_sha256(kernel: Kernel | None) -> str | None:
    return kernel.schedule.sha256 if kernel is not None and kernel.schedule is not None else None


def _sample(
    kernels: Mapping[str, Kernel],
    inputs: Sequence[NDArray[Any]],
    names: Sequence[str],
    rounds: int,
    order: random.Random,
    progress: Progress | None,
) -> list[list[tuple[int, float]]]:
    """Return the samples of each name as (round, ns); a request a round, so that it can be stopped."""
    worker = next(iter(kernels.values())).worker
    timing = _prepare(kernels, inputs, names)
    samples: list[list[tuple[int, float]]] = [[] for _ in names]
    try:
        for number in range(rounds):
            indices = order.sample(range(len(names)), len(names))
            fields = {"timing": timing, "order": indices, "target_ns": _TARGET_NS}
            for index, value in worker.request("time_round", fields).header["samples_ns"]:
                samples[index].append((number, float(value)))
            if progress is not None:
                progress(number + 1, rounds)
    finally:
        worker.request("release_timing", {"timing": timing})
    return samples


def _prepare(kernels: Mapping[str, Kernel], inputs: Sequence[NDArray[Any]], names: Sequence[str]) -> int:
    """Have the worker set up all calls; return the number of the set."""
    first = next(iter(kernels.values()))
    packing = Packing(first.worker.files)
    try:
        arrays = [np.asarray(a) for a in inputs]
        sent = [d for d, _ in pack_arguments(packing, arrays, first.function.arguments)]
        results = [{"shape": list(t.shape), "dtype": t.dtype} for t in first.function.results]
        entries: list[dict[str, Any]] = []
        for name in names:
            if name in kernels:
                number = kernels[name].build()
                entries.append({"kernel": number, "arguments": sent, "results": results})
            else:
                entries.append({"function": first.payload.reference, "arguments": sent})
        answer = first.worker.request("prepare_timing", {"entries": entries}, packing.body)
    finally:
        packing.release()
    return int(answer.header["timing"])
