"""Arrays across the wall: small ones inside the message, large ones in memory-mapped files.

The client owns the files and deletes them. (`SharedMemory` attached from another process is unlinked
when that process ends, before Python 3.13, and containers give /dev/shm 64 MB.)
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import math
import mmap
import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeAlias

import msgspec

from lhkit.model.errors import Failure, LhkitError, error_for, usage_error
from lhkit.worker.folders import finalize_here, temporary_folder
from lhkit.worker.limits import in_gib

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Address in memory of each array or blob that lives in a file: the file and its length in bytes.
Places = dict[int, tuple[str, int]]

# Files of blobs: written once, piece by piece, then mapped and never changed; the worker maps the same file.
_blobs: Places = {}
_blob_numbers = itertools.count(1)
# To make and map a file takes longer than to write a bias: blobs of so many bytes share one.
_SMALL_BYTES, _SHARED_BYTES = 1 << 14, 1 << 20
_small_blobs: dict[int, _SmallBlobs] = {}  # The file of this process, by its number
_sharing = threading.Lock()


@functools.cache
def _blob_folder(_process: int) -> Path:
    return temporary_folder(BlobFile, "lhkit-blobs-")[0]


class _SmallBlobs:
    """A file that small blobs share; it is deleted with the last of them, once there is another one."""

    def __init__(self) -> None:
        path = _new_blob_path()
        with path.open("w+b") as file:
            file.truncate(_SHARED_BYTES)
            self._memory = _mapped(path, file)
        self._path, self._at = path, 0

    def has_room(self, nbytes: int) -> bool:
        return self._at + nbytes <= len(self._memory)

    def add(self, data: bytes | bytearray) -> memoryview:
        """Return the bytes where they are in the file; OSError if there is no room on the disk."""
        with self._path.open("r+b") as file:
            file.seek(self._at)
            file.write(data)
        begin = self._at
        self._at += -(-len(data) // _ALIGNMENT) * _ALIGNMENT
        return memoryview(self._memory)[begin : begin + len(data)]


def _shared(data: bytes | bytearray) -> memoryview:
    """Return a small blob in a file that it shares with others of this process."""
    with _sharing:
        process = os.getpid()
        if process not in _small_blobs or not _small_blobs[process].has_room(len(data)):
            _small_blobs.clear()  # a forked process has a file of its own
            _small_blobs[process] = _SmallBlobs()
        return _small_blobs[process].add(data)


class BlobFile:
    """A blob that is being written; a ``with`` block that fails deletes it. Small ones share a file."""

    def __init__(self) -> None:
        self._first = bytearray()
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._nbytes = 0

    def write(self, piece: bytes | memoryview) -> None:
        """Append bytes; OSError if there is no room."""
        self._hash.update(piece)
        self._nbytes += len(piece)
        if self._file is None and self._nbytes <= _SMALL_BYTES:
            self._first += piece
            return
        if self._file is None:
            self._path = _new_blob_path()
            self._file = self._path.open("w+b")
            self._file.write(self._first)
        self._file.write(piece)

    def finish(self) -> tuple[memoryview, str]:
        """Return the bytes, read-only and mapped, and their hexadecimal hash; OSError if there is no room."""
        if self._file is None or self._path is None:
            return _shared(self._first), self._hash.hexdigest()
        with self._file:
            self._file.flush()
            memory = _mapped(self._path, self._file)
        return memoryview(memory)[: self._nbytes], self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._file is not None and self._path is not None:
            self._file.close()
            self._path.unlink(missing_ok=True)


def _new_blob_path() -> Path:
    return _blob_folder(os.getpid()) / str(next(_blob_numbers))


def _mapped(path: Path, file: BinaryIO) -> mmap.mmap:
    """Return a file as memory; it is deleted with the last reference."""
    import numpy as np

    memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    address = int(np.frombuffer(memory, np.uint8).ctypes.data)
    _blobs[address] = (str(path), len(memory))
    finalize_here(memory, _forget, _blobs, address)
    return memory


def _find(places: Places, array: NDArray[Any]) -> tuple[str, int] | None:
    """Return the file that holds the bytes of a contiguous array, and where they start in it, or None."""
    if not places:
        return None
    address = array.ctypes.data
    for start, (name, length) in list(places.items()):
        if start <= address and address + array.nbytes <= start + length:
            return name, address - start
    return None


def _forget(places: Places, address: int) -> None:
    name, _ = places.pop(address)
    Path(name).unlink(missing_ok=True)


# NumPy is imported where it is used, so that a client may start its worker before that.
Array: TypeAlias = "NDArray[Any]"

INLINE_BYTES = 1 << 14
_ALIGNMENT = 64
_PAGE_BYTES = 4096
_STAGGER_BYTES = 640
_MOST_KEPT = 128
# From here on, files are rounded up to a multiple of this instead of a power of two.
_LARGE_BYTES = 1 << 28
# How often this process was forked; what a child may have in view is not overwritten.
_FORKS = [0]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: _FORKS.__setitem__(0, _FORKS[0] + 1))


@functools.cache
def name_of_dtype(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype, which NumPy makes anew each time."""
    return dtype.name


@functools.cache
def is_narrow(name: str) -> bool:
    """Return whether a dtype is one of ml_dtypes, which files of NumPy's cannot hold."""
    return name in ("bfloat16", "int4") or name.startswith("float8_")


def dtype_named(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a model dtype, those of short floats and of int4 from ml_dtypes.

    A `UsageError` if it is unknown.
    """
    import numpy as np

    if is_narrow(name):
        import ml_dtypes

        if (narrow := getattr(ml_dtypes, name, None)) is not None:
            found: np.dtype[Any] = np.dtype(narrow)
            return found
    try:
        return np.dtype(name)
    except (TypeError, ValueError):
        raise usage_error(f"NumPy has no dtype {name!r}") from None


class Layout(msgspec.Struct, frozen=True):
    """Strides and offset of a memref, in elements."""

    strides: tuple[int, ...]
    offset: int


class ArrayPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """An array in a message, or the place of one in a file."""

    shape: tuple[int | None, ...]  # None for extents of a result that the kernel decides
    dtype: str  # Its NumPy dtype, or ``bfloat16``
    content: bytes | None = None  # Its bytes, row by row, if it is in the message
    file: str | None = None
    offset: int = 0  # Where it starts in the file, in bytes
    is_read_only: bool = False
    is_scalar: bool = False  # Whether the function takes it as a scalar
    layout: Layout | None = None  # The layout of a memref that has gaps, or None

    @property
    def is_dynamic(self) -> bool:
        """Whether an extent is unknown."""
        return None in self.shape

    @property
    def extents(self) -> tuple[int, ...]:
        """The known extents."""
        return tuple(n for n in self.shape if n is not None)


def inline(array: Array) -> ArrayPlace:
    """Return an array for a message, with its content."""
    return ArrayPlace(array.shape, name_of_dtype(array.dtype), array.tobytes())


def array_of_content(place: ArrayPlace) -> Array:
    """Return an array that came in a message, as a view that cannot be written to."""
    import numpy as np

    return np.frombuffer(place.content or b"", dtype_named(place.dtype)).reshape(place.extents)


class SharedFiles:
    """Memory-mapped files of the client: a pool for copies, reused by size class, and arrays that stay."""

    def __init__(self) -> None:
        # The worker may write to the files in it, and neither make, cut nor delete any; in journals, that too.
        self.folder, self._delete = temporary_folder(self, "lhkit-arrays-")
        self.journals = self.folder / "journals"
        self.journals.mkdir()
        self._idle: dict[int, list[tuple[str, mmap.mmap]]] = {}
        self._resident: Places = {}
        self._kept = 0
        self._count = 0

    def close(self) -> None:
        """Delete the folder with all files; arrays that live there stay readable."""
        self._idle.clear()
        self._delete()

    def journal_folder(self) -> tempfile.TemporaryDirectory[str]:
        """Return a new folder that the worker may make files in.

        Raises:
            UsageError: The files are closed, or were deleted by another program.
        """
        try:
            return tempfile.TemporaryDirectory(prefix="trace-", dir=self.journals)
        except FileNotFoundError:
            advice = "It was closed, as at the end of its process, or its temporary files were deleted."
            raise usage_error(f"the worker's folder is gone: {self.folder}", advice) from None

    def new_array(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Return an uninitialized array that the worker sees without a copy."""
        import numpy as np

        count = math.prod(shape)
        name, memory = self._new_file(max(count * dtype.itemsize, 1))
        array: Array = np.frombuffer(memory, dtype=dtype, count=count).reshape(tuple(shape))
        address = array.ctypes.data
        self._resident[address] = (name, len(memory))
        finalize_here(memory, _forget, self._resident, address)
        return array

    def find(self, array: Array) -> ArrayPlace | None:
        """Return the place of an array made by `new_array`, of a blob, or of a contiguous view of one."""
        if not array.flags.c_contiguous:
            return None
        if (found := _find(self._resident, array)) is not None:
            return ArrayPlace(array.shape, name_of_dtype(array.dtype), None, *found)
        if (found := _find(_blobs, array)) is not None:
            return ArrayPlace(array.shape, name_of_dtype(array.dtype), None, *found, is_read_only=True)
        return None

    def lend(self, nbytes: int) -> tuple[str, mmap.mmap]:
        """Return an idle file of at least ``nbytes``; give it back with `take_back`."""
        size = 1 << max(nbytes - 1, 1).bit_length()
        if nbytes > _LARGE_BYTES:
            size = -(-nbytes // _LARGE_BYTES) * _LARGE_BYTES
        idle = self._idle.get(size)
        return idle.pop() if idle else self._new_file(size)

    def take_back(self, lent: tuple[str, mmap.mmap]) -> None:
        """Make a lent file idle again; of each size eight are kept."""
        name, memory = lent
        idle = self._idle.setdefault(len(memory), [])
        if len(idle) < 8:
            idle.append(lent)
        else:
            Path(name).unlink(missing_ok=True)

    def keep(self, lent: tuple[str, mmap.mmap], array: Array) -> bool:
        """Let an array stay in a lent file until it is garbage; return False if file descriptors are scarce."""
        import numpy as np

        if self._kept >= _MOST_KEPT:
            return False
        self._kept += 1
        owner = array if array.base is None or not isinstance(array.base, np.ndarray) else array.base
        address = owner.ctypes.data
        self._resident[address] = (lent[0], len(lent[1]))
        finalize_here(owner, self._unkeep, address, lent, _FORKS[0])
        return True

    def _unkeep(self, address: int, lent: tuple[str, mmap.mmap], forks: int) -> None:
        self._kept -= 1
        self._resident.pop(address, None)
        if forks == _FORKS[0]:
            self.take_back(lent)
        else:  # a forked process may still read it
            Path(lent[0]).unlink(missing_ok=True)

    def _new_file(self, nbytes: int) -> tuple[str, mmap.mmap]:
        free = shutil.disk_usage(self.folder).free
        if nbytes > free:  # half of it would fill the disk for everyone
            raise self._no_room(nbytes, f"{in_gib(free)} are free")
        self._count += 1
        path = self.folder / str(self._count)
        try:
            with path.open("w+b") as file:
                if hasattr(os, "posix_fallocate"):
                    # A full disk is an error here, not a SIGBUS later.
                    os.posix_fallocate(file.fileno(), 0, nbytes)
                else:
                    file.truncate(nbytes)
                return str(path), mmap.mmap(file.fileno(), nbytes)
        except (OSError, OverflowError) as error:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise self._no_room(nbytes, getattr(error, "strerror", None) or str(error)) from None

    def _no_room(self, nbytes: int, why: str) -> LhkitError:
        folder = self.folder.parent
        message = f"an array needs {in_gib(nbytes)} in {folder}: {why}"
        advice = "Arrays travel to the compiler's worker in files; TMPDIR names another folder for them."
        return error_for(Failure("memory", message, advice=advice))


class Packing:
    """The arrays of one request: those in the message, those in lent files, and the places of results."""

    def __init__(self, files: SharedFiles) -> None:
        self._files = files
        self._lent: dict[int, tuple[str, mmap.mmap]] = {}  # By the address of the array in the file

    def find(self, array: Array) -> ArrayPlace | None:
        """Return the place of an array that is in a shared file already, else None."""
        return self._files.find(array)

    def add(self, array: Array) -> ArrayPlace:
        """Pack an argument: in place if it is in a shared file, else by one copy."""
        if found := self.find(array):
            return found
        if array.nbytes <= INLINE_BYTES:
            return inline(array)
        place, view = self.reserve(array.shape, array.dtype)
        view[...] = array
        return place

    def reserve(self, shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[ArrayPlace, Array]:
        """Return a place for an array, and the array there."""
        import numpy as np

        count = math.prod(shape)
        lent = self._files.lend(max(count * dtype.itemsize, 1))
        view: Array = np.frombuffer(lent[1], dtype=dtype, count=count).reshape(tuple(shape))
        self._lent[view.ctypes.data] = lent
        return ArrayPlace(view.shape, name_of_dtype(view.dtype), None, lent[0]), view

    def keep(self, view: Array) -> Array:
        """Return an array that `reserve` returned, for good: in place if it can stay there, else a copy."""
        address = view.ctypes.data
        if not self._files.keep(self._lent[address], view):
            return view.copy()
        del self._lent[address]
        return view

    def release(self) -> None:
        """Give all lent files back."""
        for lent in self._lent.values():
            self._files.take_back(lent)
        self._lent.clear()


class MappedFiles:
    """The worker's view of the client's files, mapped once each and few at a time."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._maps: dict[str, mmap.mmap] = {}

    def array(self, place: ArrayPlace) -> Array:
        """Return the array of a place: a view of a shared file, or a copy from the message."""
        import numpy as np

        if place.file is None:
            return aligned_copy(array_of_content(place))
        memory = self._map(place.file, is_read_only=place.is_read_only)
        shape, dtype = place.extents, dtype_named(place.dtype)
        return np.frombuffer(memory, dtype, math.prod(shape), place.offset).reshape(shape)

    def _map(self, name: str, *, is_read_only: bool) -> mmap.mmap:
        if name not in self._maps:
            while len(self._maps) >= self._most:
                del self._maps[next(iter(self._maps))]
            with Path(name).open("rb" if is_read_only else "r+b") as file:
                access = mmap.ACCESS_READ if is_read_only else mmap.ACCESS_WRITE
                self._maps[name] = mmap.mmap(file.fileno(), 0, access=access)
        return self._maps[name]


def aligned_copy(array: Array) -> Array:
    """Return a contiguous copy that starts at a multiple of 64 bytes, as vector code likes it."""
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def aligned_empty(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Return an uninitialized array that starts at a multiple of 64 bytes."""
    return _empty_at(shape, dtype, 0, _ALIGNMENT)


def _empty_at(shape: Sequence[int], dtype: np.dtype[Any], offset: int, period: int) -> Array:
    """Return an uninitialized array that starts ``offset`` bytes after a multiple of ``period``."""
    import numpy as np

    nbytes = math.prod(shape) * dtype.itemsize
    room = np.empty(nbytes + offset + period, dtype=np.uint8)
    start = -room.ctypes.data % period + offset
    return room[start : start + nbytes].view(dtype).reshape(tuple(shape))


def placed_empty(shapes: Sequence[tuple[Sequence[int], Any]], alignment_bytes: int) -> list[Array]:
    """Return uninitialized arrays whose addresses are odd multiples of ``alignment_bytes``, a power of two.

    So an alignment of 4 really is misaligned for vectors. Where arrays start within a page is the same in
    every run, and differs from one to the next: equal offsets would make loads wait for unrelated stores.
    """
    import numpy as np

    period = max(2 * alignment_bytes, _PAGE_BYTES)
    step = -(-_STAGGER_BYTES // (2 * alignment_bytes)) * 2 * alignment_bytes
    arrays = []
    for i, (shape, dtype_name) in enumerate(shapes):
        dtype = np.dtype(dtype_name) if not isinstance(dtype_name, str) else dtype_named(dtype_name)
        arrays.append(_empty_at(shape, dtype, (alignment_bytes + i * step) % period, period))
    return arrays


def lay_out(array: Any, layout: Layout | None) -> Any:
    """Return an argument in a layout; its offset is left free in front, to be subtracted from the address."""
    import numpy as np

    if layout is None:
        return array
    strides, offset = layout.strides, layout.offset
    reach = [(n - 1) * s for n, s in zip(array.shape, strides, strict=True)] if array.size else []
    behind = -sum(min(r, 0) for r in reach)
    start = max(offset, behind)
    room = aligned_empty((start + sum(max(r, 0) for r in reach) + 1,), array.dtype)
    placed = np.lib.stride_tricks.as_strided(
        room[start:], array.shape, [s * array.itemsize for s in strides], writeable=True
    )
    placed[...] = array
    return placed
