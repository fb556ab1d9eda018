"""Weights in files: ``.npz`` and ``.safetensors``, read and written a piece at a time."""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lhkit.load.resource_sections import FoundBlob
from lhkit.model.errors import usage_error
from lhkit.model.file_io import open_input, parse_json
from lhkit.worker.blob_files import BlobFile

_PIECE_BYTES = 4 << 20
_MOST_HEADER_BYTES = 100 << 20
SUFFIXES = (".npz", ".safetensors")


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name, whole or not at all; elements that NumPy does not know are written as integers.

    Raises:
        OSError: It cannot be written.
    """
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
    """Return the arrays of a file that have these names; the others are not read.

    Raises:
        UsageError: There is no such file, or it is none with weights.
    """
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
            f"{path} is no file with weights: {error}", "Weights are .npz or .safetensors."
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
