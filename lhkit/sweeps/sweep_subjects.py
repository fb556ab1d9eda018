"""What a sweep needs before its first variant: arguments, what results have to be, what decides a variant."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.kernels.argument_marshalling import fit_arguments, pack_arguments
from lhkit.kernels.comparing import allowed_errors, compare_results
from lhkit.kernels.kernel import Kernel
from lhkit.kernels.session_work import payload_work
from lhkit.kernels.verification import expected_results
from lhkit.load.environment import describe_environment
from lhkit.load.microkernels import read_microkernels
from lhkit.load.random_inputs import generate_arguments
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.signature import Function
from lhkit.sweeps.keys import schedule_facts, sha256_of
from lhkit.sweeps.sweep_task import Subject, Task
from lhkit.text.requirements import requirements_of
from lhkit.worker.client import Worker
from lhkit.worker.limits import Limits
from lhkit.worker.shared_arrays import Packing

Array = NDArray[Any]

_ALIGNMENT_BYTES = 64
# A variant is compared with the best of many, by whoever confirms the winner; here a per cent will do.
_RULES = {"batch_ns": 2_000_000, "least_runs": 5, "most_runs": 9, "enough_ns": 30_000_000, "hopeless": 3.0}
_MACHINE = ("cpu", "vector extensions", "clock", "memory", "threads", "bindings", "lhkit")


@dataclass(frozen=True, slots=True)
class Preparation:
    """How variants are tried, as a user may choose it.

    Attributes:
        function: Which function of the payloads; needed where they have several.
        arguments: What to run on; drawn from the seed if not given.
        seed: What arguments are drawn from.
        opt_level: LLVM's optimization level, 0 to 3.
        target: What variants are compiled for, as for ``lhkit.compile``.
        microkernels: What runs for each microkernel that the schedule calls.
        pin: Whether to stay on one core.
        deduplicate: Whether equal programs are compiled and timed once.
        limits: What getting ready may take.
    """

    function: str | None = None
    arguments: Sequence[Array] | None = None
    seed: int = 0
    opt_level: int = 3
    target: str | None = None
    microkernels: Mapping[str, str | os.PathLike[str]] | None = None
    pin: bool = True
    deduplicate: bool = True
    limits: Limits | None = None


def prepare_task(
    payloads: Mapping[str, Payload],
    schedule: Schedule,
    first: Mapping[str, KnobValue],
    payload_axis: str | None,
    how: Preparation,
    worker: Worker,
    environment: str,
) -> Task:
    """Return the task of a sweep.

    Args:
        payloads: By the values of their axis; a single one by ``""``.
        schedule: The schedule.
        first: Values of knobs that it takes.
        payload_axis: The axis whose values are payloads, or None.
        how: How variants are tried.
        worker: What computes the reference.
        environment: Of the machines that try them; see `environment_hash`.

    Raises:
        LhkitError: A reference cannot be computed, or arguments do not fit.
    """
    facts = {
        "environment": environment,
        "schedule": schedule_facts(schedule),
        "ops": [body.decode(errors="replace") for _, _, body in worker.preparation],
    }
    sample = schedule.with_knobs(first)
    subjects = {name: _subject(payload, sample, facts, how, worker) for name, payload in payloads.items()}
    return Task(
        schedule, requirements_of(schedule), subjects, environment, payload_axis, deduplicate=how.deduplicate
    )


def environment_hash(worker: Worker, *, opt_level: int, target: str = "") -> str:
    """Return the hash of what decides whether times may be compared: machine, toolchain, pipeline, target."""
    known = dict(describe_environment(worker))
    pipeline = worker.request("describe", {}).header["pipeline_sha256"]
    machine = {name: known[name] for name in _MACHINE}
    facts = {
        **machine,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "pipeline": pipeline,
        "opt_level": opt_level,
    }
    if target:
        facts["target"] = target
    return sha256_of(facts)


def _subject(
    payload: Payload, schedule: Schedule, facts: Mapping[str, Any], how: Preparation, worker: Worker
) -> Subject:
    given = read_microkernels(how.microkernels)
    kernel = Kernel(
        payload, schedule, how.function, how.opt_level, worker, how.limits, given, target=how.target
    )
    function = kernel.function
    chosen = generate_arguments(function, how.seed) if how.arguments is None else how.arguments
    inputs = fit_arguments(function.arguments, tuple(chosen), function.describe())
    unscheduled = Kernel(payload, None, function.name, how.opt_level, worker, how.limits)
    results, against = expected_results(unscheduled, inputs)
    expected = [np.asarray(r) for r in results]
    shapes = [a.shape for a in inputs]
    work = payload_work(payload, function.name, shapes, worker)
    recipe, body = kernel.recipe()
    packing = Packing(worker.files, body)
    arrays = _pack(packing, function, inputs, expected, work.reduction_length)
    fields = {
        **recipe,
        **arrays[0],
        "results": [{"shape": list(t.shape), "dtype": t.dtype} for t in function.results],
        "written": [t.kind == "memref" for t in function.arguments],
        "alignment_bytes": _ALIGNMENT_BYTES,
        "rules": {**_RULES, "pin": how.pin},
    }
    scope = {
        **facts,
        "payload": payload.sha256,
        "function": function.name,
        "shapes": [list(shape) for shape in shapes],
        "microkernels": recipe["microkernels"],
    }
    difference = _difference(function, arrays[1], expected, work.reduction_length, against)
    return Subject(sha256_of(scope), fields, packing.body, difference, work.flops, packing)


def _pack(
    packing: Packing, function: Function, inputs: Sequence[Array], expected: Sequence[Array], terms: int
) -> tuple[dict[str, Any], list[Array]]:
    """Return the arrays of a request, and those that wrong results are put into."""
    arguments = [descriptor for descriptor, _ in pack_arguments(packing, inputs, function.arguments)]
    checks, places = [], []
    for result in expected:
        allowed = allowed_errors(result, terms)
        checks.append([packing.add(result), None if allowed is None else packing.add(allowed)])
        places.append(packing.reserve(result.shape, result.dtype))
    described = {"arguments": arguments, "expected": checks, "places": [d for d, _ in places]}
    return described, [place for _, place in places]


def _difference(
    function: Function, places: Sequence[Array], expected: Sequence[Array], terms: int, against: str
) -> Callable[[Sequence[Sequence[int]]], str]:
    names = [f"result {i}" for i in range(len(function.results))]
    names += [f"argument {i}" for i, t in enumerate(function.arguments) if t.kind == "memref"]

    def difference(shapes: Sequence[Sequence[int]]) -> str:
        for name, shape, place in zip(names, shapes, places, strict=True):
            if tuple(shape) != place.shape:
                return f"{name} has shape {tuple(shape)}, expected {place.shape} ({against})"
        verdict = compare_results(places, expected, reduction_length=terms, against=against, names=names)
        return f"differs from {against}: {verdict.difference}"

    return difference


def first_values(values: Mapping[str, KnobValue], payload_axis: str | None) -> dict[str, KnobValue]:
    """Return the knobs of a point, without the axis of payloads."""
    return {name: value for name, value in values.items() if name != payload_axis}
