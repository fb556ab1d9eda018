"""The worker that a session shares, started at the first need."""

from __future__ import annotations

import atexit
import functools

from lhkit.worker.client import Worker


@functools.cache
def shared_worker() -> Worker:
    """Return the worker of this process; it ends with it."""
    worker = Worker()
    atexit.register(worker.close)
    return worker


def own_worker() -> Worker:
    """Return a worker of one's own, with the transform ops that the session loaded; it starts when it is asked.

    Whoever has it closes it.
    """
    worker = Worker()
    worker.preparation = shared_worker().preparation
    return worker
