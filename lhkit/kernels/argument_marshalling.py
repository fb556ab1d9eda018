"""Argument marshalling: type checks, packing into shared memory, and what decides a kernel."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from lhkit.load.loader import application_of, payload_source
from lhkit.load.weights import resource_places
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.printable import counted
from lhkit.model.schedule import Schedule
from lhkit.model.signature import ArrayType, Function, Microkernel
from lhkit.worker.client import Worker
from lhkit.worker.kernel_requests import KernelSpec
from lhkit.worker.shared_arrays import INLINE_BYTES, ArrayPlace, Layout, Packing, dtype_named, inline

Array = NDArray[Any]


def fit_arguments(function: Function, arguments: tuple[Any, ...]) -> list[Array]:
    """Return arguments as arrays that fit their types; memrefs keep their identity."""
    types = function.arguments
    if len(arguments) != len(types):
        given = counted(len(arguments), "argument")
        raise usage_error(f"{given} given, {len(types)} taken by {function.describe()}")
    return [fit_argument(i, t, a) for i, (t, a) in enumerate(zip(types, arguments, strict=True))]


def fit_argument(index: int, type_: ArrayType, argument: Any) -> Array:
    """Return an argument as an array that fits its type."""
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
        raise usage_error(f"argument {index} is not an array: {error}") from None


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
) -> list[tuple[ArrayPlace, Array | None]]:
    """Return the place of each argument, and the array to copy back from if it is a written copy.

    An array that is given for two memrefs is one buffer to the kernel too. A tensor that shares memory with
    a memref travels as a copy, because a value does not change when a buffer is written.
    """
    written = [a for a, t in zip(arrays, types, strict=True) if t.kind == "memref"]
    packed: list[tuple[ArrayPlace, Array | None]] = []
    first_use: dict[int, int] = {}
    for i, (array, type_) in enumerate(zip(arrays, types, strict=True)):
        if type_.kind != "memref":
            shares = any(np.may_share_memory(array, w) for w in written)
            value = packing.add(array.copy() if shares else array)
            is_scalar = type_.kind == "scalar"
            packed.append((structs.replace(value, is_scalar=True) if is_scalar else value, None))
            continue
        earlier = first_use.setdefault(id(array), i)
        if (types[earlier].strides, types[earlier].offset) != (type_.strides, type_.offset):
            raise usage_error(
                f"arguments {earlier} and {i} are one array, the function takes them in different layouts"
            )
        place, view = packed[earlier] if earlier < i else _pack_buffer(packing, array)
        packed.append((_with_layout(place, type_), view))
    return packed


def _pack_buffer(packing: Packing, array: Array) -> tuple[ArrayPlace, Array | None]:
    if found := packing.find(array):
        return found, None
    place, view = packing.reserve(array.shape, array.dtype)
    view[...] = array
    return place, view


def _with_layout(place: ArrayPlace, type_: ArrayType) -> ArrayPlace:
    """Return a place with the strides and offset of its type, dynamic ones as without gaps."""
    if not type_.strides and not type_.offset:
        return place
    strides: list[int] = []
    reach = 1
    for extent, stride in reversed(list(zip(place.extents, type_.strides, strict=True))):
        strides.insert(0, reach if stride is None else stride)
        reach = max(extent, 1) * strides[0]
    return structs.replace(place, layout=Layout(tuple(strides), type_.offset or 0))


def result_places(types: Sequence[ArrayType]) -> tuple[ArrayPlace, ...]:
    """Return the places of results that the worker provides."""
    return tuple(ArrayPlace(t.shape, t.dtype) for t in types)


def pack_result(packing: Packing, type_: ArrayType) -> tuple[ArrayPlace, Array | None]:
    """Return the place of a result, and the array there; None if it comes in the answer."""
    dtype = dtype_named(type_.dtype)
    shape = tuple(n for n in type_.shape if n is not None)
    if not type_.is_static or math.prod(shape) * dtype.itemsize <= INLINE_BYTES:
        return ArrayPlace(type_.shape, type_.dtype), None
    return packing.reserve(shape, dtype)


def kernel_spec(
    payload: Payload,
    schedule: Schedule | None,
    function: str,
    opt_level: int,
    worker: Worker,
    microkernels: tuple[Microkernel, ...] = (),
    target: str = "",
    bound: Mapping[int, Array] | None = None,
) -> KernelSpec:
    """Return the key of a compiled kernel, as requests carry it."""
    application = None if schedule is None else application_of(schedule)
    resources = resource_places(payload, worker.files)
    source = payload_source(payload)
    places = {
        i: inline(a) if a.nbytes <= INLINE_BYTES else worker.files.find(a) for i, a in (bound or {}).items()
    }
    found = {i: place for i, place in places.items() if place is not None}
    return KernelSpec(source, function, application, opt_level, microkernels, target, resources, found)
