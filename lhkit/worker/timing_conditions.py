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
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from lhkit.worker.user_folders import machine_folder, open_private

_FOLDER = "timings"
_SIGN = re.compile(r"([0-9]{1,10})-([0-9]{1,12})", re.ASCII)
# When a process began is told from the time of day, which somebody may set.
_CLOCK_STEP_S = 5


@contextlib.contextmanager
def timing_sign(folder: Path | None = None) -> Iterator[Callable[[], bool]]:
    """Let others on this machine know that this process is timing, until the end of the block.

    Args:
        folder: Where the signs are; by default a folder of the user and this machine.

    Yields:
        What tells whether another process is timing now. Where no file can be written nobody is seen.
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
    """Return the folder of the signs of this user on this machine, made if it is missing.

    Cached: the sandbox of a worker is closed around it.

    Raises:
        OSError: It cannot be made.
    """
    return machine_folder(_FOLDER)


def _others(folder: Path, own: str) -> bool:
    """Return whether there is the sign of another process that lives; those of the dead are removed."""
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
