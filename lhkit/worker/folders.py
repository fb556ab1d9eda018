"""Folders: temporary ones, and those of the user for state, cache, and what lhkit's processes share.

A temporary folder is deleted with its owner, or at the next start if the process was killed. A forked child
inherits the owner; when its copy is finalized, the parent's folder must stay.

Each folder holds a file that its process keeps locked. The system unlocks it when the last process that has it
open has ended: the one that made it, or a child that it forked. A folder whose file is not locked is left over.

Every folder of the user is closed to all others (mode 0700). Its owner is checked each time it is used, and
symbolic links are not followed, so that no other user can direct what lhkit writes or deletes. Processes of
different users therefore share nothing: locks and timing signs reach the processes of one user only.

``LHKIT_STATE_DIR`` names another folder for the state. A user without a home folder (no ``HOME`` and no passwd
entry, as in many containers) or with one that cannot be written gets a folder below the temporary folder.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from lhkit.model.bindings_host import host_version
from lhkit.model.file_io import write_whole

STATE_VARIABLE = "LHKIT_STATE_DIR"
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


def state_folder(*names: str) -> Path:
    """Return a private folder of the user's state, made if it is missing; OSError if it cannot be private."""
    named = os.environ.get(STATE_VARIABLE)
    if named:
        base = Path(named)
        base.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
    else:
        base = _private_or_temporary(platformdirs.user_state_dir, "state")
    return _below(base, *names)


def cache_folder(*names: str) -> Path:
    """Return a private folder of the user's cache, made if it is missing; OSError if it cannot be private."""
    return _below(_private_or_temporary(platformdirs.user_cache_dir, "cache"), *names)


def machine_folder(name: str) -> Path:
    """Return a private folder of the user on this machine, for locks and process ids.

    Machines that share a home folder have one each. OSError if it cannot be private.
    """
    node = re.sub(r"[^A-Za-z0-9_-]", "_", platform.node()) or "here"
    return state_folder("machines", node, name)


def home_folder() -> Path:
    """Return the user's home folder, or a private temporary folder for a user without one."""
    try:
        home = Path.home()
    except RuntimeError:  # no HOME and no passwd entry
        home = Path()
    return home if home.is_absolute() else private_folder(_temporary_base() / "home")


def homeless_note() -> str | None:
    """Return a sentence about state that is kept in the temporary folder; None where it is kept for good."""
    with contextlib.suppress(OSError):
        folder = state_folder()
        if not os.environ.get(STATE_VARIABLE) and folder.is_relative_to(_temporary_path()):
            return (
                f"this user has no home folder that can be written: lhkit keeps its files in {folder.parent}, "
                f"which the system may delete; {STATE_VARIABLE}=FOLDER names another place"
            )
    return None


def private_folder(path: Path) -> Path:
    """Return a folder of this user that is closed to others, made if it is missing.

    OSError if it cannot be made, is a symbolic link, or belongs to another user.
    """
    path.mkdir(_PRIVATE_FOLDER, parents=True, exist_ok=True)
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _refused(path, "it is a symbolic link")
    if hasattr(os, "geteuid"):
        if found.st_uid != os.geteuid():
            raise _refused(path, "it belongs to another user")
        if stat.S_IMODE(found.st_mode) & 0o077:
            path.chmod(_PRIVATE_FOLDER)
    return path


def open_private(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Open a regular file like ``os.open``, with mode 600 if new; OSError for a link, a pipe or a device."""
    # A pipe without a reader must not keep us waiting until it is refused.
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, _PRIVATE_FILE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _refused(path, "it is not a regular file")
    return descriptor


def _below(base: Path, *names: str) -> Path:
    for name in names:
        base = private_folder(base / name)
    return base


def _private_or_temporary(wanted: Callable[[str], str], name: str) -> Path:
    """Return a folder below the home folder, or a temporary one where that cannot be had."""
    with contextlib.suppress(OSError, RuntimeError):  # without a home folder: RuntimeError, or "~" as it is
        path = Path(wanted("lhkit"))
        if path.is_absolute():
            # The user's own link may lead to a larger disk.
            is_own_link = path.is_symlink() and hasattr(os, "geteuid") and path.lstat().st_uid == os.geteuid()
            return private_folder(path.resolve() if is_own_link else path)
    return private_folder(_temporary_base() / name)


def _temporary_base() -> Path:
    return private_folder(_temporary_path())


def _temporary_path() -> Path:
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    return Path(tempfile.gettempdir()) / f"lhkit-{user}"


def _refused(path: Path, why: str) -> OSError:
    return PermissionError(errno.EACCES, f"not used because {why}", str(path))


# What the compiler was once asked about itself, kept in files of the user's cache, one for each toolchain.


FOLDER_VARIABLE = "LHKIT_CATALOGUE_DIR"

T = TypeVar("T")


def kept_path(host: str, makers: Sequence[str], *, what: str = "") -> Path:
    """Return the file for an answer, keyed by the bindings and the modules that make it (glob patterns)."""
    from lhkit import __version__

    return _folder() / f"{what}{host}-{host_version(host)}-lhkit-{__version__}-{_digest(tuple(makers))}.json"


@functools.cache
def _digest(makers: tuple[str, ...]) -> str:
    package = Path(__file__).parent.parent
    files = sorted(file for pattern in makers for file in package.glob(pattern))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _folder() -> Path:
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    try:
        return cache_folder("catalogues")
    except OSError:
        return Path(os.devnull)  # nothing is below it: every answer is made anew


def read_or_make(path: Path, read: Callable[[Any], T], make: Callable[[], bytes]) -> T:
    """Return ``read`` of a file's JSON; a missing or damaged file (ValueError) is made and kept."""
    try:
        return read(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        content = make()
    with contextlib.suppress(OSError):  # a cache that cannot be written is done without
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.decode())
    return read(json.loads(content))


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
