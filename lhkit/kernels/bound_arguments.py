"""Bound arguments: which they are, by position or name, and the arrays that a kernel keeps for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.kernels.argument_marshalling import fit_argument
from lhkit.model.errors import usage_error
from lhkit.model.payload import Payload
from lhkit.model.signature import Function
from lhkit.worker.client import Worker

Array = NDArray[Any]

_ARGUMENT = re.compile(r"%([\w$.-]+)\s*:")


def argument_names(payload: Payload, function: Function) -> tuple[str, ...]:
    """Return the names of a function's arguments in the text of the payload, without ``%``."""
    found = re.search(rf'@"?{re.escape(function.name)}"?\s*\(', payload.text)
    if found is None:
        return ()
    # What follows the signature names arguments too, but later.
    names = _ARGUMENT.findall(payload.text, found.end())[: len(function.arguments)]
    return tuple(names) if len(names) == len(function.arguments) else ()


def bind_arrays(
    payload: Payload, function: Function, given: Mapping[str | int, Any], worker: Worker
) -> dict[int, Array]:
    """Return copies of arrays for arguments, by position, in memory that the worker can map.

    Raises:
        UsageError: No such argument; one that is given twice or is no tensor; an array that does not fit.
    """
    names = argument_names(payload, function)
    bound: dict[int, Array] = {}
    for key, value in given.items():
        i = _position(key, names, function)
        if i in bound:
            raise usage_error(f"argument {i} is bound twice, by name and by position")
        type_ = function.arguments[i]
        if type_.kind != "tensor":
            why = "it may be written to" if type_.kind == "memref" else "it is a scalar"
            raise usage_error(f"argument {i} ({type_.text}) cannot be bound: {why}", "Bind tensors.")
        array = fit_argument(i, type_, value)
        copy = worker.files.new_array(array.shape, array.dtype)
        copy[...] = array
        bound[i] = copy
    return bound


def _position(key: str | int, names: Sequence[str], function: Function) -> int:
    if isinstance(key, str) and key.removeprefix("%") in names:
        return names.index(key.removeprefix("%"))
    if isinstance(key, int | np.integer) and 0 <= key < len(function.arguments):
        return int(key)
    known = ", ".join(f"{i} ({name})" for i, name in enumerate(names)) or f"0 to {len(function.arguments) - 1}"
    raise usage_error(f"@{function.name} has no argument {key!r} to bind", f"Its arguments: {known}.")


def all_arguments(bound: Mapping[int, Array], given: Sequence[Any], count: int) -> list[Any]:
    """Return the arguments of a call, of which there are ``count``, from those that are not bound.

    Given may also be all of them; those that are bound are replaced.
    """
    if len(given) == count:
        return [bound.get(i, argument) for i, argument in enumerate(given)]
    if len(given) != count - len(bound):
        return list(given)
    left = iter(given)
    return [bound[i] if i in bound else next(left) for i in range(count)]


def shared_bindings(bindings: Sequence[Mapping[int, Array]]) -> dict[int, Array]:
    """Return what any of several kernels has bound.

    Raises:
        UsageError: Two of them have bound different values, so that they do not compute the same.
    """
    found: dict[int, Array] = {}
    for i, array in (item for bound in bindings for item in bound.items()):
        if not np.array_equal(found.setdefault(i, array), array, equal_nan=array.dtype.kind in "fc"):
            what = f"two kernels have different arrays bound to argument {i}"
            raise usage_error(f"{what}: they do not compute the same")
    return found
