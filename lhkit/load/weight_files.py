"""Streaming readers and writers of ``.npz`` and ``.safetensors``."""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lhkit.load.resource_sections import FoundBlob
from lhkit.model.errors import Diagnostic, Failure, LhkitError, error_for, usage_error
from lhkit.model.file_io import open_input, parse_json
from lhkit.model.payload import Blob, ResourceUse
from lhkit.model.signature import Function
from lhkit.model.span import Span
from lhkit.worker.shared_arrays import BlobFile, dtype_named

_PIECE_BYTES = 4 << 20
_MOST_HEADER_BYTES = 100 << 20
SUFFIXES = (".npz", ".safetensors")


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name, whole or not at all; elements that NumPy does not know are written as integers."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    plain = array if array.dtype.kind != "V" else array.view(np.uint16)
                    np.lib.format.write_array(member, plain, allow_pickle=False)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def weights_beside(path: Path) -> Path | None:
    """Return the file with the weights of a payload's file: of its name, with another suffix."""
    return next((f for s in SUFFIXES if (f := path.with_suffix(s)).is_file()), None)


def read_weights(path: Path, names: Collection[str]) -> list[FoundBlob]:
    """Return the arrays of a file that have these names; the others are not read."""
    try:
        if path.suffix == ".safetensors":
            return list(_read_safetensors(path, names))
        return list(_read_npz(path, names))
    except FileNotFoundError:
        raise usage_error(f"no such file: {path}") from None
    except OSError as error:
        raise usage_error(f"{path} cannot be read: {error.strerror or error}") from None
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        struct.error,
        zipfile.BadZipFile,
        EOFError,
        SyntaxError,
        TokenError,
    ) as error:
        raise usage_error(
            f"{path} is not a weight file: {error}", "Weights are .npz or .safetensors."
        ) from None


def _read_npz(path: Path, names: Collection[str]) -> Iterator[FoundBlob]:
    with open_input(path) as file, zipfile.ZipFile(file) as archive:
        for member in archive.namelist():
            name = member.removesuffix(".npy")
            if name in names:
                with archive.open(member) as stream:
                    yield _copied(name, stream, _npy_bytes(stream))


def _npy_bytes(stream: IO[bytes]) -> int:
    """Return how many bytes of data follow the head of a ``.npy`` file, which is read."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_columns, dtype = readers[version](stream)
    if (by_columns and len(shape) > 1) or dtype.hasobject or dtype.byteorder == ">":
        raise ValueError("an array in it is not row by row, little endian numbers")
    return math.prod(shape) * dtype.itemsize


def _read_safetensors(path: Path, names: Collection[str]) -> Iterator[FoundBlob]:
    with open_input(path) as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        if length > _MOST_HEADER_BYTES:
            raise ValueError("its head is too long")
        described = parse_json(stream.read(length))
        for name in names:
            if name in described:
                begin, end = described[name]["data_offsets"]
                stream.seek(8 + length + begin)
                yield _copied(name, stream, end - begin)


def _copied(name: str, stream: IO[bytes], nbytes: int) -> FoundBlob:
    file = BlobFile()
    try:
        while nbytes:
            piece = stream.read(min(nbytes, _PIECE_BYTES))
            if not piece:
                raise ValueError(f"{name} ends too early")
            file.write(piece)
            nbytes -= len(piece)
    except BaseException:
        file.discard()
        raise
    return FoundBlob(name, *file.finish())


# The blobs of a payload, put together from what was found in its text, beside it, or given.


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
    """Return the blobs that a payload uses, as far as their data is there."""
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
