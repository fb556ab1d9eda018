"""Random inputs from a function signature and a seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.load.resource_data import array_of
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.signature import ArrayType, Function
from lhkit.worker.limits import check_fits
from lhkit.worker.shared_arrays import dtype_named

DEFAULT_EXTENT = 64
# So many elements are drawn at a time: drawn at once, float64 would take more memory than the argument.
_DRAWN = 1 << 20
# Below this are indices into what has an extent that is not known.
_SMALL = 8


def default_arguments(
    payload: Payload, function: Function, seed: int = 0, *, extent: int = DEFAULT_EXTENT
) -> list[NDArray[Any]]:
    """Return an array an argument: from the payload for those that were constants, generated for the others."""
    blobs = {blob.name: blob for blob in payload.blobs}
    known = {w.argument: blobs[w.resource] for w in function.weights if w.resource in blobs}
    unknown = [i for i in range(len(function.arguments)) if i not in known]
    rest = dataclasses.replace(
        function,
        arguments=tuple(function.arguments[i] for i in unknown),
        sizes=tuple(k for k, i in enumerate(unknown) if i in function.sizes),
        indices=tuple((unknown.index(i), limit) for i, limit in function.indices if i in unknown),
    )
    others = iter(generate_arguments(rest, seed, extent=extent))
    return [array_of(known[i]) if i in known else next(others) for i in range(len(function.arguments))]


def generate_arguments(
    function: Function, seed: int = 0, *, extent: int = DEFAULT_EXTENT
) -> list[NDArray[Any]]:
    """Return one array per argument: normal numbers for floats, small integers, fair coins for bool.

    Indices are not negative, and within the extents that the payload indexes with them where these are known; a
    number that an allocation's size depends on is ``extent``.
    """
    if not isinstance(seed, int) or seed < 0:
        raise usage_error(f"the seed is {seed!r}, not an integer from 0 up")
    nbytes = sum(type_.count(extent) * dtype_named(type_.dtype).itemsize for type_ in function.arguments)
    check_fits(
        f"the arguments of {function.describe()}" + (f" at size {extent}" if function.is_dynamic else ""),
        nbytes,
        "Take smaller extents (--size N for dynamic ones) or a machine with more memory.",
    )
    generator = np.random.default_rng(seed)
    arguments = [_generate(generator, type_, extent) for type_ in function.arguments]
    for i, limit in function.indices:
        arguments[i][...] = _as_indices(arguments[i], min(extent, _SMALL) if limit is None else limit)
    for i in function.sizes:
        arguments[i][...] = min(extent, np.iinfo(arguments[i].dtype).max if arguments[i].dtype != bool else 1)
    return arguments


def _as_indices(array: NDArray[Any], limit: int) -> NDArray[Any]:
    """Return integers taken modulo the extent that they index, which the type may be too narrow for."""
    if array.dtype == bool:
        return array & (limit > 1)
    most = int(np.iinfo(array.dtype).max)
    return np.asarray(np.mod(array, array.dtype.type(max(min(limit, most), 1))))


def _generate(generator: np.random.Generator, type_: ArrayType, extent: int) -> NDArray[Any]:
    shape = tuple(extent if n is None else n for n in type_.shape)
    dtype = dtype_named(type_.dtype)
    try:
        array = np.empty(shape, dtype)
    except ValueError as error:  # more dimensions or bytes than an array can have
        raise usage_error(f"no argument can be generated for {type_.text[:80]}: {error}") from None
    flat = array.reshape(-1)
    if type_.dtype == "bool":
        _fill(flat, lambda count: generator.integers(0, 2, count))
    elif type_.dtype == "int4":  # no integer to NumPy
        _fill(flat, lambda count: generator.integers(-8, 8, count))
    elif np.issubdtype(dtype, np.integer):
        low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -8
        _fill(flat, lambda count: generator.integers(low, 8, count))
        if "index" in type_.text:
            flat &= 7
    elif np.issubdtype(dtype, np.complexfloating):
        _fill(flat.real, generator.standard_normal)
        _fill(flat.imag, generator.standard_normal)
    else:
        _fill(flat, generator.standard_normal)
    return array


def _fill(flat: NDArray[Any], draw: Callable[[int], NDArray[Any]]) -> None:
    for start in range(0, flat.size, _DRAWN):
        part = flat[start : start + _DRAWN]
        part[...] = draw(part.size).astype(part.dtype)
