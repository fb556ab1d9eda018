"""Who else is timing on this machine: a file says so for as long as it lasts, and others look for such files.

Caches, memory and clock are shared, so timings that run beside one another disturb each other, also on
different cores. They are not kept from it; their samples are marked.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

_FOLDER = "lhkit-timings"
# Everybody may put a file there, and remove only their own.
_MODE = 0o1777
# When a process began is told from the time of day, which somebody may set.
_CLOCK_STEP_S = 5


@contextlib.contextmanager
def timing_sign(folder: Path | None = None) -> Iterator[Callable[[], bool]]:
    """Let others on this machine know that this process is timing, until the end of the block.

    Args:
        folder: Where the signs are; by default a folder beside the system's temporary files.

    Yields:
        What tells whether another process is timing now. Where no file can be written nobody is seen.
    """
    folder = folder or Path(tempfile.gettempdir()) / _FOLDER
    own = _sign_of(psutil.Process())
    try:
        _make(folder)
        (folder / own).touch()
    except OSError:
        yield lambda: False  # a machine without such a place: timing goes on, as if alone
        return
    try:
        yield lambda: _others(folder, own)
    finally:
        (folder / own).unlink(missing_ok=True)


def _make(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        folder.chmod(_MODE)


def _others(folder: Path, own: str) -> bool:
    """Return whether there is the sign of another process that lives; those of the dead are removed."""
    found = False
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == own:
                continue
            if _is_alive(entry.name):
                found = True
            else:
                with contextlib.suppress(OSError):  # another user's, or gone by now: it says nothing either way
                    Path(entry.path).unlink()
    return found


def _sign_of(process: psutil.Process) -> str:
    """Return the name of a process's sign: its number and when it began, since numbers are used again."""
    return f"{process.pid}-{round(process.create_time())}"


def _is_alive(name: str) -> bool:
    number, _, began_s = name.partition("-")
    if not (number.isdigit() and began_s.isdigit()):
        return False
    try:
        return bool(abs(psutil.Process(int(number)).create_time() - int(began_s)) < _CLOCK_STEP_S)
    except psutil.Error:
        return False
