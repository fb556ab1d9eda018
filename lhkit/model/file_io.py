"""Bounded reading of untrusted files and JSON, and atomic writing.

A FIFO would block for ever, a device may do anything, and some files of ``/proc`` have no end.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import tempfile
import threading
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from lhkit.model.errors import usage_error

# What is read as a whole. Weights are not: they are copied or mapped piece by piece.
MOST_BYTES = 256 << 20
# Deeper than any value of lhkit, and far from where Python's own stack ends.
_DEEPEST = 100
_MOST_DIGITS = 300  # a float can hold the number
_OTHER_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class UnfitFileError(OSError):
    """What a path names is there and is not read; ``strerror`` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EINVAL, reason)


def check_input(path: str | os.PathLike[str]) -> None:
    """Check that a path names a regular file, without opening it."""
    if "\0" in os.fspath(path):
        raise UnfitFileError("its name holds a NUL character")
    _check_kind(Path(path).stat().st_mode, path)


def open_input(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; never blocks."""
    check_input(path)  # opening some devices has effects
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check_kind(os.fstat(descriptor).st_mode, path)  # it may be another one by now
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: str | os.PathLike[str], *, most: int = MOST_BYTES) -> bytes:
    """Return what is in a regular file."""
    with open_input(path) as file:
        # Files of /proc and /sys do not say their size, or say none that is true.
        is_long = os.fstat(file.fileno()).st_size > most
        content = b"" if is_long else file.read(most + 1)
    if is_long or len(content) > most:
        raise UnfitFileError(f"it has more than {most >> 20:,} MiB")
    return content


def read_text(path: str | os.PathLike[str], *, most: int = MOST_BYTES) -> str:
    """Return the text, in UTF-8, that is in a regular file."""
    return read_bytes(path, most=most).decode().replace("\r\n", "\n").replace("\r", "\n")


def parse_json(text: str | bytes) -> Any:
    """Return the value that JSON of bounded depth holds, with finite numbers of bounded length."""
    try:
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite_float, parse_int=_bounded_int
        )
        _check_depth(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _check_kind(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    kind = next((name for is_kind, name in _OTHER_KINDS if is_kind(mode)), "something else")
    raise UnfitFileError(f"it is {kind}, not a regular file")


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        inside = [each for each in level if isinstance(each, dict | list)]
        if not inside:
            return
        level = [v for each in inside for v in (each.values() if isinstance(each, dict) else each)]
    raise ValueError("it is nested too deeply")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _bounded_int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file atomically through a temporary one beside it; an existing file keeps its permissions."""
    path = Path(path)
    if "\0" in str(path):
        raise usage_error(f"{str(path)!r} cannot be written: its name holds a NUL character")
    if path.is_dir():
        raise usage_error(f"{path} is a directory, a file was to be written there")
    temporary = None
    try:
        if path.exists() and not path.is_file():  # a device or a pipe: there is nothing to replace
            path.write_bytes(data)
            return
        path = path.resolve()  # a link stays one
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise usage_error(f"{path} cannot be written: {error.strerror or error}") from None


def write_whole(path: Path, text: str, *, sync: bool = False) -> None:
    """Write a file of lhkit's own at once or not at all; on demand it is on the disk afterwards."""
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
