"""Signs of timings on this machine: a file per process that is timing, and a look at those of others.

Caches, memory and clock are shared, so timings that run beside one another disturb each other, also on
different cores. They are not kept from it; their samples are marked.

The signs are in a private folder of the user, so timings of other users are not seen. A folder that all users
write to would show them, but anybody could put links or false signs there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import numpy as np
import psutil

from lhkit.model.target import CacheLevel
from lhkit.worker.folders import machine_folder, open_private

_FOLDER = "timings"
_SIGN = re.compile(r"([0-9]{1,10})-([0-9]{1,12})", re.ASCII)
# The start time of a process is wall-clock time, which may be set.
_CLOCK_STEP_S = 5


@contextlib.contextmanager
def timing_sign(folder: Path | None = None) -> Iterator[Callable[[], bool]]:
    """Mark this process as timing; yield a function that returns whether another process is timing now.

    Without a writable folder (default: `signs_folder`) it returns False.
    """
    own = _sign_of(psutil.Process())
    try:
        folder = folder or signs_folder()
        os.close(open_private(folder / own))
    except OSError:
        yield lambda: False  # no such place: timing goes on, as if alone
        return
    try:
        yield lambda: _others(folder, own)
    finally:
        (folder / own).unlink(missing_ok=True)


@functools.cache
def signs_folder() -> Path:
    """Return the folder of this user's signs on this machine; cached, since the sandbox is closed around it."""
    return machine_folder(_FOLDER)


def _others(folder: Path, own: str) -> bool:
    """Return whether another running process has a sign; signs of ended processes are removed."""
    found = False
    with os.scandir(folder) as entries:
        for entry in entries:
            sign = _SIGN.fullmatch(entry.name)
            if sign is None or entry.name == own or not entry.is_file(follow_symlinks=False):
                continue  # our own, or nothing that a timing made
            if _is_alive(int(sign[1]), int(sign[2])):
                found = True
            else:
                with contextlib.suppress(OSError):  # gone by now
                    Path(entry.path).unlink()
    return found


def _sign_of(process: psutil.Process) -> str:
    """Return the name of a process's sign: its number and when it began, since numbers are used again."""
    return f"{process.pid}-{round(process.create_time())}"


def _is_alive(pid: int, began_s: int) -> bool:
    try:
        return bool(abs(psutil.Process(pid).create_time() - began_s) < _CLOCK_STEP_S)
    except (psutil.Error, OverflowError):
        return False


# One core for as long as something is timed, where the system lets us, and the old cores afterwards.


@contextlib.contextmanager
def turn_to_time(file: str) -> Iterator[None]:
    """Hold the lock of a file that two processes share which time in turn; without a file do nothing."""
    with locked(file):
        yield


def pause_file(file: str, lane: int) -> str:
    """Return the file that is locked until nothing runs beside the timing of a lane; see `locked`.

    The client holds it, pauses the other process when it is told that this one times, and lets go of it.
    """
    return f"{file}-{lane}" if file else ""


@contextlib.contextmanager
def locked(file: str, *, shared: bool = False) -> Iterator[None]:
    """Wait for the lock of a file, and hold it; without a file do nothing."""
    if not file:
        yield
        return
    import fcntl  # not on Windows, where there are no two processes that time in turn

    with Path(file).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def on_cores(cores: Collection[int]) -> Iterator[None]:
    """Run this thread, and threads that it starts, on these cores; without any where it is."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def quietest_core() -> int | None:
    """Return the least busy core of the affinity mask since the last call, or None if the system cannot pin."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    busy = psutil.cpu_percent(interval=None, percpu=True)
    return min(allowed, key=lambda core: (busy[core] if core < len(busy) else 0.0, -core))


def first_core() -> int | None:
    """Return the first core of the affinity mask, or None if the system cannot pin."""
    return min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def pinned_to(core: int | None) -> contextlib.AbstractContextManager[None]:
    """Run this thread on one core; with None, wherever the system likes."""
    return on_cores(() if core is None else {core})


# The last-level cache: how large it is, and how to empty it of what a kernel left there.


_UNKNOWN_BYTES = 32 << 20
_MOST_BYTES = 256 << 20
_CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@functools.cache
def last_level_cache_bytes() -> int:
    """Return the size of the largest cache; 32 MiB where the system does not say, 256 MiB at most."""
    sizes = [level.size_bytes for level in cache_levels()]
    return min(max(sizes, default=_UNKNOWN_BYTES), _MOST_BYTES)


@functools.cache
def cache_levels() -> tuple[CacheLevel, ...]:
    """Return the data caches of a core, the smallest first; none where the system does not say."""
    found: dict[int, int] = {}
    for folder in sorted(_CACHE_FOLDER.glob("index*")):
        kind, level, size = (_read(folder / name) for name in ("type", "level", "size"))
        if kind != "Instruction" and level.isdigit() and size:
            found[int(level)] = int(size.rstrip("KMG")) * _UNITS.get(size[-1], 1)
    return tuple(CacheLevel(f"L{level}", size) for level, size in sorted(found.items()))


def _read(file: Path) -> str:
    """Return what a file says, nothing where a container hides it."""
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""


class Eviction:
    """A buffer of twice the last-level cache; reading it puts everything else out of the caches."""

    def __init__(self) -> None:
        self._buffer = np.ones(2 * last_level_cache_bytes() // 8, dtype=np.uint64)

    def evict(self) -> None:
        """Walk the buffer."""
        self._buffer.max()
