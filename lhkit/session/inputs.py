"""Inputs for a function that nobody gave any: drawn from its signature and a seed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.model.payload import Payload
from lhkit.model.signature import ArrayType, Function
from lhkit.session.blobs import array_of
from lhkit.worker.arrays import dtype_named

DEFAULT_EXTENT = 64


def default_arguments(
    payload: Payload, function: Function, seed: int = 0, *, extent: int = DEFAULT_EXTENT
) -> list[NDArray[Any]]:
    """Return an array an argument: from the payload for those that were constants, generated for the others.

    Args:
        payload: The payload.
        function: One of its functions.
        seed: As for `generate_arguments`.
        extent: As for `generate_arguments`.
    """
    blobs = {blob.name: blob for blob in payload.blobs}
    known = {w.argument: blobs[w.resource] for w in function.weights if w.resource in blobs}
    types = tuple(t for i, t in enumerate(function.arguments) if i not in known)
    others = iter(generate_arguments(dataclasses.replace(function, arguments=types), seed, extent=extent))
    return [array_of(known[i]) if i in known else next(others) for i in range(len(function.arguments))]


def generate_arguments(
    function: Function, seed: int = 0, *, extent: int = DEFAULT_EXTENT
) -> list[NDArray[Any]]:
    """Return an array an argument: normal numbers for floats, small integers, fair coins for bool.

    Args:
        function: Whose arguments.
        seed: The same seed gives the same arrays.
        extent: Elements in every dynamic dimension, the same for all, so that arguments fit one another.
    """
    generator = np.random.default_rng(seed)
    return [_generate(generator, type_, extent) for type_ in function.arguments]


def _generate(generator: np.random.Generator, type_: ArrayType, extent: int) -> NDArray[Any]:
    shape = tuple(extent if n is None else n for n in type_.shape)
    dtype = dtype_named(type_.dtype)
    if type_.dtype == "bool":
        return np.asarray(generator.integers(0, 2, shape)).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -8
        return np.asarray(generator.integers(low, 8, shape)).astype(dtype)
    if np.issubdtype(dtype, np.complexfloating):
        parts = generator.standard_normal(shape), generator.standard_normal(shape)
        return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
    return np.asarray(generator.standard_normal(shape)).astype(dtype)
