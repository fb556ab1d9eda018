"""Spare workers: processes that have done their work and wait a minute for more, as a new one takes a while."""

from __future__ import annotations

import atexit
import contextlib
import threading

import psutil

from lhkit.worker.client import Worker, own_worker, shared_worker

# As many as a sweep has. One that has grown is ended: its memory is of no use to the next one.
_MOST = 2
_MOST_BYTES = 512 << 20
_KEPT_SECONDS = 60.0

_lock = threading.Lock()
_spare: list[Worker] = []
_timer: threading.Timer | None = None


def take_worker() -> Worker:
    """Return a worker with the transform ops that the session loaded: a spare one, or a new one.

    The caller gives it back by `give_back`, or closes it.
    """
    wanted = shared_worker().preparation
    with _lock:
        for worker in _spare:
            if worker.preparation == wanted and worker.pid is not None:
                _spare.remove(worker)
                return worker
    return own_worker()


def give_back(worker: Worker) -> None:
    """Keep a worker of which nothing is asked for a minute, in case one is needed; end one that has grown."""
    if worker.pid is None or _bytes_of(worker.pid) > _MOST_BYTES:
        worker.close()
        return
    with _lock:
        _spare.append(worker)
        surplus = _spare[:-_MOST]
        del _spare[:-_MOST]
        _restart_timer()
    for each in surplus:
        each.close()


def end_spare_workers() -> None:
    """End the spare workers now."""
    with _lock:
        ended = _spare[:]
        _spare.clear()
        if _timer is not None:
            _timer.cancel()
    for worker in ended:
        worker.close()


def _restart_timer() -> None:
    global _timer  # noqa: PLW0603 - one of a process
    if _timer is None:
        atexit.register(end_spare_workers)
    else:
        _timer.cancel()
    _timer = threading.Timer(_KEPT_SECONDS, end_spare_workers)
    _timer.daemon = True
    _timer.start()


def _bytes_of(pid: int) -> int:
    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return _MOST_BYTES + 1
