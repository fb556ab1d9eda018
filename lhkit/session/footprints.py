"""The memory of kernels: what their buffers foretell, and what they ask for when they run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.model.footprint import HeapCount
from lhkit.model.jsonable import from_json
from lhkit.model.memory_program import MemoryProgram
from lhkit.model.signature import ArrayType, Function
from lhkit.session.passing import pack_arguments
from lhkit.worker.arrays import Packing
from lhkit.worker.protocol import Message

Array = NDArray[Any]


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
