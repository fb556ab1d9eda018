"""Files of blobs: written once, piece by piece, then mapped and never changed; the worker maps the same file.

Each goes when nobody uses its bytes any more. What they were read from is not mapped: if somebody writes
that anew, its pages would change or be gone.
"""

from __future__ import annotations

import functools
import hashlib
import mmap
import os
from pathlib import Path

import numpy as np

from lhkit.worker.temp_folders import finalize_here, temporary_folder

# Address of each mapped blob: its file and its length in bytes.
_mapped: dict[int, tuple[str, int]] = {}


class _Folder:
    """Where the blobs of a process are."""

    def __init__(self) -> None:
        self.path, self._delete = temporary_folder(self, "lhkit-blobs-")
        self.count = 0


@functools.cache
def _folder(_process: int) -> _Folder:
    return _Folder()


class BlobFile:
    """A blob that is being written."""

    def __init__(self) -> None:
        folder = _folder(os.getpid())
        folder.count += 1
        self._path = folder.path / str(folder.count)
        self._file = self._path.open("w+b")
        self._hash = hashlib.sha256()
        self._nbytes = 0

    def write(self, piece: bytes | memoryview) -> None:
        """Append bytes.

        Raises:
            OSError: There is no room.
        """
        self._file.write(piece)
        self._hash.update(piece)
        self._nbytes += len(piece)

    def finish(self) -> tuple[memoryview, str]:
        """Return the bytes, read-only and mapped, and their hash in hexadecimal.

        Raises:
            OSError: There is no room.
        """
        with self._file:
            if not self._nbytes:
                self._file.write(b"\0")  # nothing cannot be mapped
            self._file.flush()
            memory = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        address = int(np.frombuffer(memory, np.uint8).ctypes.data)
        _mapped[address] = (str(self._path), len(memory))
        finalize_here(memory, _forget, address, str(self._path))
        return memoryview(memory)[: self._nbytes], self._hash.hexdigest()

    def discard(self) -> None:
        """Delete what was written."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def find_blob(address: int, nbytes: int) -> tuple[str, int] | None:
    """Return the file of the blob that has these bytes in memory, and where they start in it, or None."""
    for start, (name, length) in list(_mapped.items()):
        if start <= address and address + nbytes <= start + length:
            return name, address - start
    return None


def _forget(address: int, name: str) -> None:
    _mapped.pop(address, None)
    Path(name).unlink(missing_ok=True)
