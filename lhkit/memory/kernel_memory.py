"""The memory of kernels: what their buffers foretell, and what they ask for when they run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.kernels.argument_marshalling import pack_arguments
from lhkit.kernels.kernel_recipes import describe_recipe
from lhkit.memory.footprint_estimate import predict_footprint
from lhkit.model.codec import from_json
from lhkit.model.knob import KnobValue
from lhkit.model.memory_footprint import Footprint, HeapCount
from lhkit.model.memory_program import MemoryProgram
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.signature import ArrayType, Function
from lhkit.worker.client import Worker
from lhkit.worker.framing import Message
from lhkit.worker.shared_arrays import Packing
from lhkit.worker.workers import shared_worker

Array = NDArray[Any]


def scheduled_footprint(
    payload: Payload,
    schedule: Schedule | None = None,
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    function: str | None = None,
    worker: Worker | None = None,
) -> Footprint:
    """Return the memory of a payload as its schedule leaves it, which has to have buffers by then.

    Nothing is compiled and nothing runs: this is for schedules that bufferize, and for what their steps do to
    buffers. Buffers that nothing frees yet live to the end. What depends on the extents of arguments is
    bounded.

    Args:
        payload: What is scheduled.
        schedule: What to apply to it first.
        knobs: Values for knobs of the schedule, over those it has.
        function: Which function; needed where there are several.
        worker: Another worker than the session's.

    Raises:
        UsageError: There are tensors left, or there is no such function or knob.
        ScheduleError: The schedule does not apply.
    """
    if schedule is not None and knobs:
        schedule = schedule.with_knobs(knobs)
    chosen = payload.function(function)
    worker = worker or shared_worker()
    fields, body = describe_recipe(payload, schedule, chosen.name, 0, worker)
    answer = worker.request("memory", {**fields, "stage": "scheduled"}, body)
    program, _ = read_answer(answer)
    return Footprint(footprint_name(chosen, schedule), predict_footprint(program, ()))


def footprint_name(function: Function, schedule: Schedule | None) -> str:
    """Return what a footprint is of, for people."""
    return f"@{function.name}, {PurePath(schedule.source).name if schedule else 'unscheduled'}"


def call_fields(function: Function, arrays: Sequence[Array], packing: Packing) -> dict[str, Any]:
    """Return the fields of a request that runs a function on copies of arrays and keeps no result."""
    copies = [array.copy() for array in arrays]
    sent = pack_arguments(packing, copies, function.arguments)
    results = [{"shape": list(t.shape), "dtype": t.dtype} for t in function.results]
    return {"arguments": [descriptor for descriptor, _ in sent], "results": results}


def read_answer(answer: Message) -> tuple[MemoryProgram, HeapCount | None]:
    """Return what the worker found out about a kernel."""
    counted = answer.header["counted"]
    program = from_json(MemoryProgram, json.loads(answer.body))
    return program, None if counted is None else from_json(HeapCount, counted)


def deciding_values(types: Sequence[ArrayType], arrays: Sequence[Array]) -> list[tuple[int, ...] | int]:
    """Return what of the arguments decides about memory: shapes of arrays, values of integers."""
    values: list[tuple[int, ...] | int] = []
    for type_, array in zip(types, arrays, strict=True):
        if type_.kind != "scalar":
            values.append(tuple(array.shape))
        elif np.asarray(array).dtype.kind in "biu":
            values.append(int(array))
    return values
