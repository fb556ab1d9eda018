"""Inputs for a function that nobody gave any: drawn from its signature and a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.model.errors import usage_error
from lhkit.model.signature import ArrayType, Function
from lhkit.worker.arrays import dtype_named


def generate_arguments(function: Function, seed: int = 0) -> list[NDArray[Any]]:
    """Return an array an argument: normal numbers for floats, small integers, fair coins for bool.

    Args:
        function: Whose arguments; their shapes must be static.
        seed: The same seed gives the same arrays.
    """
    generator = np.random.default_rng(seed)
    return [_generate(generator, type_, i) for i, type_ in enumerate(function.arguments)]


def _generate(generator: np.random.Generator, type_: ArrayType, index: int) -> NDArray[Any]:
    if not type_.is_static:
        raise usage_error(f"argument {index} has the dynamic type {type_.text}", "Give it: --arg FILE.npy.")
    shape = tuple(n for n in type_.shape if n is not None)
    dtype = dtype_named(type_.dtype)
    if type_.dtype == "bool":
        return generator.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        low = 0 if np.issubdtype(dtype, np.unsignedinteger) else -8
        return generator.integers(low, 8, shape).astype(dtype)
    if np.issubdtype(dtype, np.complexfloating):
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
    return np.asarray(generator.standard_normal(shape)).astype(dtype)
