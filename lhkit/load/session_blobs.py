"""The blobs of a payload, put together from what was found in its text, beside it, or given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.load.resource_sections import FoundBlob
from lhkit.load.weight_files import read_weights, weights_beside
from lhkit.model.blobs import Blob, ResourceUse
from lhkit.model.errors import LhkitError, error_for, usage_error
from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.signature import Function
from lhkit.model.span import Span
from lhkit.worker.blob_files import BlobFile
from lhkit.worker.shared_arrays import dtype_named

Array = NDArray[Any]
Weights = str | os.PathLike[str] | Mapping[str, Any]


def array_of(blob: Blob) -> Array:
    """Return the data of a blob as a read-only array, bytes where NumPy has no such elements."""
    try:
        dtype = dtype_named(blob.dtype)
    except TypeError:
        return np.frombuffer(blob.data, np.uint8)
    return np.frombuffer(blob.data, dtype).reshape(blob.shape)


def uses_of(functions: Sequence[Function], constants: Sequence[ResourceUse]) -> dict[str, list[ResourceUse]]:
    """Return what a payload uses each resource for: constants, and arguments that were constants."""
    uses: dict[str, list[ResourceUse]] = {}
    for use in constants:
        uses.setdefault(use.name, []).append(use)
    for function in functions:
        for weight in function.weights:
            type_ = function.arguments[weight.argument]
            shape = tuple(n or 0 for n in type_.shape)
            nbytes = _nbytes(type_.dtype, shape)
            use = ResourceUse(weight.resource, type_.dtype, shape, type_.text, nbytes, function.line, 1)
            uses.setdefault(weight.resource, []).append(use)
    return uses


def _nbytes(dtype: str, shape: Sequence[int]) -> int | None:
    try:
        return int(np.prod(shape, dtype=np.int64)) * dtype_named(dtype).itemsize
    except TypeError:
        return None


def collect_blobs(
    source: tuple[str, str, Path | None],
    uses: Mapping[str, Sequence[ResourceUse]],
    found: Sequence[FoundBlob],
    weights: Weights | None,
) -> tuple[Blob, ...]:
    """Return the blobs that a payload uses, as far as their data is there.

    Args:
        source: Name and text of the payload, for messages, and its path if it is a file.
        uses: What it uses each resource for.
        found: The data in its text.
        weights: Other data: a file, or arrays by the names of resources; what is given here comes first.

    Raises:
        UsageError: A name that the payload does not use; a file that does not hold weights; arrays of other
            types.
        PayloadError: Data of another size than the type of a constant says; with the place.
    """
    data = {f.name: f for f in found if f.name in uses}
    if isinstance(weights, Mapping):
        data |= {name: _given(name, array, uses, source[0]) for name, array in weights.items()}
    elif weights is not None:
        data |= {f.name: f for f in read_weights(Path(weights), uses.keys())}
    missing = [name for name in uses if name not in data]
    if missing and source[2] is not None and (beside := weights_beside(source[2])) is not None:
        data |= {f.name: f for f in read_weights(beside, missing)}
    for name, blob in data.items():
        for use in uses[name]:
            if use.nbytes not in (None, blob.data.nbytes):
                raise _wrong_size(source, use, blob)
    ordered = [(name, data[name]) for name in uses if name in data]
    return tuple(Blob(n, uses[n][0].dtype, uses[n][0].shape, b.sha256, b.data) for n, b in ordered)


def _given(name: str, array: Any, uses: Mapping[str, Sequence[ResourceUse]], source: str) -> FoundBlob:
    if name not in uses:
        known = ", ".join(uses) or "none"
        raise usage_error(f"{source} uses no resource {name!r}", f"Its resources: {known}.")
    given, use = np.asarray(array), uses[name][0]
    have = "x".join(map(str, (*given.shape, given.dtype.name)))
    if given.shape != use.shape or (use.nbytes is not None and given.dtype != dtype_named(use.dtype)):
        raise usage_error(f"the data for {name} is {have}, and {source} has {use.text}")
    file = BlobFile()
    try:
        file.write(np.ascontiguousarray(given).reshape(-1).view(np.uint8).data)
        return FoundBlob(name, *file.finish())
    except OSError as error:
        file.discard()
        raise usage_error(f"there is no room for the data of {name}: {error.strerror or error}") from None


def _wrong_size(source: tuple[str, str, Path | None], use: ResourceUse, blob: FoundBlob) -> LhkitError:
    shown, text, _ = source
    what = f"the resource {use.name} has {blob.data.nbytes} bytes, and {use.text} needs {use.nbytes}"
    here = Diagnostic("error", what, Span(shown, use.line, use.column))
    failure = Failure(
        "payload-verify", f"{shown} does not verify", (here,), stage="parse", texts=((shown, text),)
    )
    return error_for(failure)
