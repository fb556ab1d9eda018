"""Argument marshalling: type checks, packing into shared memory, and the recipe of a kernel."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.load.loader import describe_schedule, describe_sources
from lhkit.load.weights import describe_resources
from lhkit.model.codec import to_json
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.printable import counted
from lhkit.model.schedule import Schedule
from lhkit.model.signature import ArrayType, Microkernel
from lhkit.worker.client import Worker
from lhkit.worker.shared_arrays import INLINE_BYTES, Descriptor, Packing, dtype_named

Array = NDArray[Any]


def fit_arguments(types: tuple[ArrayType, ...], arguments: tuple[Any, ...], shown: str) -> list[Array]:
    """Return arguments as arrays that fit their types; memrefs keep their identity."""
    if len(arguments) != len(types):
        raise usage_error(f"{counted(len(arguments), 'argument')} given, {len(types)} taken by {shown}")
    return [_fit(i, t, a) for i, (t, a) in enumerate(zip(types, arguments, strict=True))]


def _fit(index: int, type_: ArrayType, argument: Any) -> Array:
    if type_.kind == "scalar":
        return _fit_scalar(index, type_, argument)
    if type_.kind == "memref" and not isinstance(argument, np.ndarray):
        raise usage_error(f"argument {index} is written to in place, so it must be a NumPy array")
    array = _as_array(index, argument)
    fits = len(array.shape) == len(type_.shape) and all(
        n is None or n == m for n, m in zip(type_.shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype_named(type_.dtype):
        have = "x".join(map(str, (*array.shape, array.dtype.name)))
        advice = f"Convert it: array.astype({type_.dtype!r})." if fits else None
        raise usage_error(f"argument {index} is {have}, the function takes {type_.describe()}", advice)
    if type_.kind == "memref" and not array.flags.writeable:
        raise usage_error(f"argument {index} may be written to, and this array is read-only", "Pass a copy.")
    return array


def _as_array(index: int, argument: Any) -> Array:
    try:
        return np.asarray(argument)
    except ValueError as error:  # rows of different lengths
        raise usage_error(f"argument {index} is no array: {error}") from None


def _fit_scalar(index: int, type_: ArrayType, argument: Any) -> Array:
    """Return a scalar argument in the type's dtype; only floats may lose digits."""
    given = _as_array(index, argument)
    dtype = dtype_named(type_.dtype)
    value = None
    if given.shape == () and (given.dtype.kind != "c" or dtype.kind == "c"):
        with np.errstate(all="ignore"), contextlib.suppress(TypeError, ValueError, OverflowError):
            value = given.astype(dtype)
    if value is None or (dtype.kind in "biu" and value != given):
        raise usage_error(f"argument {index} is {argument!r}, the function takes a {type_.dtype}")
    return value


def pack_arguments(
    packing: Packing, arrays: Sequence[Array], types: Sequence[ArrayType]
) -> list[tuple[Descriptor, Array | None]]:
    """Return the descriptor of each argument, and the place to copy back from if it is a written copy.

    An array that is given for two memrefs is one buffer to the kernel too. A tensor that shares memory with
    a memref travels as a copy, because a value does not change when a buffer is written.
    """
    written = [a for a, t in zip(arrays, types, strict=True) if t.kind == "memref"]
    packed: list[tuple[Descriptor, Array | None]] = []
    first_use: dict[int, int] = {}
    for i, (array, type_) in enumerate(zip(arrays, types, strict=True)):
        if type_.kind != "memref":
            shares = any(np.may_share_memory(array, w) for w in written)
            packed.append((_pack_value(packing, array.copy() if shares else array, type_), None))
            continue
        earlier = first_use.setdefault(id(array), i)
        if (types[earlier].strides, types[earlier].offset) != (type_.strides, type_.offset):
            raise usage_error(
                f"arguments {earlier} and {i} are one array, the function takes them in different layouts"
            )
        descriptor, place = packed[earlier] if earlier < i else _pack_buffer(packing, array)
        packed.append((_with_layout(descriptor, type_), place))
    return packed


def _pack_value(packing: Packing, array: Array, type_: ArrayType) -> Descriptor:
    descriptor = packing.add(array)
    return {**descriptor, "scalar": True} if type_.kind == "scalar" else descriptor


def _pack_buffer(packing: Packing, array: Array) -> tuple[Descriptor, Array | None]:
    if found := packing.find(array):
        return found, None
    descriptor, place = packing.reserve(array.shape, array.dtype)
    place[...] = array
    return descriptor, place


def _with_layout(descriptor: Descriptor, type_: ArrayType) -> Descriptor:
    """Return the descriptor with the strides and offset of its type, dynamic ones as without gaps."""
    if not type_.strides and not type_.offset:
        return descriptor
    strides: list[int] = []
    reach = 1
    for extent, stride in reversed(list(zip(descriptor["shape"], type_.strides, strict=True))):
        strides.insert(0, reach if stride is None else stride)
        reach = max(extent, 1) * strides[0]
    return {**descriptor, "layout": {"strides": strides, "offset": type_.offset or 0}}


def pack_result(packing: Packing, type_: ArrayType) -> tuple[Descriptor, Array | None]:
    """Return the descriptor of a result, and the place it will be in; None if it comes inline."""
    dtype = dtype_named(type_.dtype)
    shape = tuple(n for n in type_.shape if n is not None)
    if not type_.is_static or math.prod(shape) * dtype.itemsize <= INLINE_BYTES:
        return {"shape": list(type_.shape), "dtype": type_.dtype}, None
    return packing.reserve(shape, dtype)


# The recipe of a kernel, as fields of a request.


def describe_recipe(
    payload: Payload,
    schedule: Schedule | None,
    function: str,
    opt_level: int,
    worker: Worker,
    microkernels: Sequence[Microkernel] = (),
    target: str = "",
) -> tuple[dict[str, Any], bytes]:
    """Return payload, schedule and all that decides a kernel, as fields and body of a request."""
    described, body = describe_sources([(payload.source, payload.content)], role="payload")
    fields: dict[str, Any] = {
        "function": function,
        "opt_level": opt_level,
        "schedule": None,
        "microkernels": to_json(tuple(microkernels)),
        "target": target,
        "resources": describe_resources(payload, worker.files),
    }
    if schedule is not None:
        more, more_body, fields["schedule"] = describe_schedule(schedule)
        described, body = described + more, body + more_body
    return {"sources": described, **fields}, body
