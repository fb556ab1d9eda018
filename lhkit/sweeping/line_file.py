"""A file of lines that only grows: whole lines or nothing, and one writer at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lhkit.model.errors import usage_error
from lhkit.sweeping.locking import is_locked_by_another, lock_file


class LineFile:
    """An open file that lines are added to; locked until it is closed or its process ends, however it ends.

    Attributes:
        path: The file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        sync: bool = False,
        kept: Callable[[], str] = str,
    ) -> None:
        """Open a file, or begin one.

        Args:
            path: The file.
            read_only: Open it for reading alone, whoever may be writing to it; then it is not locked.
            sync: Have every line on the disk before the next one, in case the machine itself dies.
            kept: Says in words what is not lost where a line cannot be written.

        Raises:
            UsageError: It cannot be read or written, or another process writes to it.
        """
        self.path, self._sync, self._kept = Path(path), sync, kept
        self._descriptor: int | None = None
        try:
            if not read_only:
                self._descriptor = self._open_to_write()
            self._content = self.path.read_bytes()
        except OSError as error:
            self.close()
            raise usage_error(f"{self.path} cannot be opened: {error.strerror or error}") from None

    def _open_to_write(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o666)
        try:
            lock_file(descriptor)
        except OSError as error:
            os.close(descriptor)
            if not is_locked_by_another(error):
                raise
            raise usage_error(
                f"{self.path} is being written by another sweep",
                "Wait for it or stop it, or give this one a store of its own.",
            ) from None
        return descriptor

    def take_content(self) -> bytes:
        """Return what the file held when it was opened, once: it may be large."""
        content, self._content = self._content, b""
        return content

    def append(self, line: bytes) -> None:
        """Add a line, its line break included, or nothing.

        Raises:
            UsageError: It cannot be written (a full disk, most often); the file is as it was.
        """
        if self._descriptor is None:
            raise usage_error(f"{self.path} is not open for writing")
        self._write(self._descriptor, line, os.fstat(self._descriptor).st_size)

    def _write(self, descriptor: int, data: bytes, size: int) -> None:
        """Write behind the file's end, which is at ``size``."""
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
            if self._sync:
                os.fsync(descriptor)
        except OSError as error:
            self._undo(size)
            raise usage_error(
                f"{self.path} cannot be written: {error.strerror or error}",
                f"What it holds{self._kept()} is not lost: make room and start again.",
            ) from None
        except BaseException:  # Ctrl-C between two pieces
            self._undo(size)
            raise

    def _undo(self, size: int) -> None:
        try:
            self.cut(size)
        except OSError:
            return  # the next opening cuts it off

    def cut(self, size: int) -> None:
        """Leave so many bytes of it; a file that is open for reading alone stays as it is."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, size)

    @property
    def is_open_to_write(self) -> bool:
        """Whether lines can be added."""
        return self._descriptor is not None

    def close(self) -> None:
        """Let others write to the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def is_torn(tail: bytes, start: bytes) -> bool:
    """Return whether bytes without a line break can be what a killed process left of a line that starts so."""
    return tail.startswith(start[: len(tail)]) or not tail.strip(b"\0")
