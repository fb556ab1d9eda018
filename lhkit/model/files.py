"""Writing files: whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from lhkit.model.errors import usage_error


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file through a temporary one beside it, so that it is never half there.

    A file that is there already keeps its permissions.

    Raises:
        UsageError: It cannot be written there (no such folder, full disk, no permission).
    """
    path = Path(path)
    if "\0" in str(path):
        raise usage_error(f"{str(path)!r} cannot be written: its name holds a NUL character")
    if path.is_dir():
        raise usage_error(f"{path} is a directory, a file was to be written there")
    if path.exists() and not path.is_file():  # a device or a pipe: there is nothing to replace
        return _write_through(path, data)
    path = path.resolve()  # a link stays one
    temporary = None
    try:
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


def write_whole(path: Path, text: str) -> None:
    """Write a file of lhkit's own at once or not at all.

    Raises:
        OSError: It cannot be written; what was there before is still there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _write_through(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise usage_error(f"{path} cannot be written: {error.strerror or error}") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
