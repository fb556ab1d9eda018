"""A file of lines that only grows: whole lines or nothing, and one writer at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.file_io import check_input, read_bytes
from lhkit.worker.locking import is_locked_by_another, lock_file

# Some millions of lines.
_MOST_BYTES = 4 << 30

# Takes in a line, or raises a ValueError if it is something else.
Learn = Callable[[bytes], None]


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
            self._content = read_bytes(self.path, most=_MOST_BYTES)
        except OSError as error:
            self.close()
            raise usage_error(f"{self.path} cannot be opened: {error.strerror or error}") from None

    def _open_to_write(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            check_input(self.path)
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

    def read(self, schema: str, start: bytes, learn: Learn, learn_unended: Learn | None = None) -> None:
        """Go once through the lines that the file held when it was opened, and mend its end.

        Args:
            schema: What every line is one of.
            start: What every line begins with.
            learn: Takes in a line, without its break.
            learn_unended: Takes in what stands behind the last break; then the file gets the missing break.
                Without it, and where it refuses, that is what a killed process left of a line, and is cut off.

        Raises:
            UsageError: The file is another one, or was edited; it is closed and stays as it is.
        """
        content, self._content = self._content, b""  # it may be large
        whole = content.rfind(b"\n") + 1
        try:
            for number, line in enumerate(content[:whole].splitlines(), 1):
                if not _takes(learn, line):
                    raise self._not_ours(number, schema)
            if tail := content[whole:]:
                if not _is_torn(tail, start):
                    raise self._not_ours(content.count(b"\n") + 1, schema)
                self._mend(tail, whole, learn_unended)
        except BaseException:
            self.close()
            raise

    def _mend(self, tail: bytes, whole: int, learn: Learn | None) -> None:
        if learn is None or not _takes(learn, tail):
            self.cut(whole)
        elif self._descriptor is not None:
            self.append(b"\n")

    def _not_ours(self, number: int, schema: str) -> UsageError:
        advice = "The file is another one, or was edited; it was left as it is."
        return usage_error(f"{self.path}:{number}: this is no line of {schema}", advice)

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

    def close(self) -> None:
        """Let others write to the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _takes(learn: Learn, line: bytes) -> bool:
    try:
        learn(line)
    except ValueError:
        return False
    return True


def _is_torn(tail: bytes, start: bytes) -> bool:
    """Return whether bytes without a line break can be what a killed process left of a line that starts so."""
    return tail.startswith(start[: len(tail)]) or not tail.strip(b"\0")
