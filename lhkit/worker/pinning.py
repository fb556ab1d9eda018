"""One core for as long as something is timed, where the system lets us, and the old cores afterwards."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import psutil


def quietest_core() -> int | None:
    """Return the core of the affinity mask that was least busy since the last call.

    People who share a machine would all meet on a fixed one. None where the system does not pin.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    busy = psutil.cpu_percent(interval=None, percpu=True)
    return min(allowed, key=lambda core: (busy[core] if core < len(busy) else 0.0, -core))


@contextlib.contextmanager
def pinned_to(core: int | None) -> Iterator[None]:
    """Run this thread on one core; with None, wherever the system likes."""
    if core is None:
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
