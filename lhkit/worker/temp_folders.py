"""Temporary folders that are deleted with their owner, or at the next start if the process was killed.

A forked child inherits the owner; when its copy is finalized, the parent's folder must stay.

Each folder holds a file that its process keeps locked. The system unlocks it when the last process that has it
open has ended: the one that made it, or a child that it forked. A folder whose file is not locked is left over.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lhkit.worker.user_folders import open_private

# A lock on an open file ends with the process that holds it, whatever ends that.
_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_POLL_SECONDS = 0.02

if sys.platform == "win32":
    import msvcrt

    # Locks of Windows keep others from reading what they cover, so this one covers a byte far behind.
    _PLACE = 1 << 40

    def lock_file(descriptor: int) -> None:
        """Lock an open file, or raise OSError at once."""
        os.lseek(descriptor, _PLACE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def lock_file(descriptor: int) -> None:
        """Lock an open file, or raise OSError at once."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def wait_for_lock(descriptor: int, seconds: float) -> bool:
    """Try to lock an open file for some seconds; return whether it is locked. OSError if it cannot be."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            lock_file(descriptor)
            return True
        except OSError as error:
            if not is_locked_by_another(error):
                raise
        if time.monotonic() >= deadline:
            return False
        time.sleep(min(_POLL_SECONDS, seconds))


def is_locked_by_another(error: OSError) -> bool:
    """Return whether `lock_file` failed because another one holds the lock."""
    return error.errno in _TAKEN


_PREFIX = "lhkit-"
_OWNER = ".lhkit-owner"


def temporary_folder(owner: object, prefix: str) -> tuple[Path, Callable[[], Any]]:
    """Return a new folder that is deleted with its owner, and the function that deletes it now."""
    folder, lock = _new_folder(prefix)
    return folder, finalize_here(owner, _delete, folder, lock)


@contextlib.contextmanager
def temporary_place(prefix: str) -> Iterator[Path]:
    """Yield a new folder that is deleted at the end of the block; see `temporary_folder`."""
    folder, lock = _new_folder(prefix)
    process = os.getpid()
    try:
        yield folder
    finally:
        _call_in(process, _delete, folder, lock)


def collect_abandoned() -> list[Path]:
    """Delete the folders of killed processes, and return them.

    Only real folders of this user that no other may enter, with an unlocked lock file; links are not followed.
    """
    root = Path(tempfile.gettempdir())
    try:
        with os.scandir(root) as entries:
            ours = [root / e.name for e in entries if e.name.startswith(_PREFIX) and _is_private(e)]
    except OSError:
        return []
    return [folder for folder in ours if _collect(folder)]


def finalize_here(owner: object, function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Call a function when its owner goes, but only in this process; return what calls it now."""
    return weakref.finalize(owner, _call_in, os.getpid(), function, *arguments)


def _call_in(process: int, function: Callable[..., Any], *arguments: Any) -> None:
    if os.getpid() == process:
        function(*arguments)


@functools.cache
def _collect_once(_process: int) -> None:
    collect_abandoned()


def _new_folder(prefix: str) -> tuple[Path, int | None]:
    """Return a new folder and the descriptor of its locked file, or None where files cannot be locked."""
    _collect_once(os.getpid())
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    # Locked before it has its name: without that, a process that starts now could take it for left over.
    unnamed = folder / f"{_OWNER}-new"
    lock = None
    try:
        lock = open_private(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        lock_file(lock)
        unnamed.rename(folder / _OWNER)
    except OSError:
        if lock is not None:
            os.close(lock)
        unnamed.unlink(missing_ok=True)
        return folder, None
    return folder, lock


def _delete(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
        if os.name == "nt":  # there an open file stays
            shutil.rmtree(folder, ignore_errors=True)


def _is_private(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # gone by now
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def _collect(folder: Path) -> bool:
    try:
        lock = open_private(folder / _OWNER, os.O_RDWR)
    except OSError:  # it has none, or not one of ours
        return False
    try:
        lock_file(lock)
    except OSError:  # its process is alive
        os.close(lock)
        return False
    _delete(folder, lock)
    return not folder.exists()
