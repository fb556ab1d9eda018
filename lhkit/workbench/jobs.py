"""Job queues of a workbench: commands in order, background jobs beside them."""

from __future__ import annotations

import atexit
import functools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

Stopped = Callable[[], bool]


class Jobs(Protocol):
    """Runs the work of a workbench; only posted functions touch its state."""

    def post(self, act: Callable[[], None]) -> None:
        """Queue a function behind the commands."""

    def run(self, act: Callable[[], None]) -> None:
        """Queue a function behind the commands, and wait for it."""

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Start a background job; a running job of the same name is cancelled."""

    def stop(self, name: str) -> None:
        """Request the cancellation of a job."""


class InlineJobs:
    """Runs everything synchronously, for scripts and tests."""

    def post(self, act: Callable[[], None]) -> None:
        """Call the function."""
        act()

    def run(self, act: Callable[[], None]) -> None:
        """Call the function."""
        act()

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Do the work."""
        work(lambda: False)

    def stop(self, name: str) -> None:
        """Do nothing: no job is running."""


class ThreadJobs:
    """One thread for commands and one per job, so that the kernel stays responsive; none while idle."""

    def __init__(self, report: Callable[[Exception], None]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._is_open = True
        self._stops: dict[str, threading.Event] = {}
        _OPEN.add(self)

    def post(self, act: Callable[[], None]) -> None:
        """Queue a function; ignored once the queue is closed."""
        self._take(functools.partial(self._guarded, act))

    def run(self, act: Callable[[], None]) -> None:
        """Queue a function, wait for it and re-raise its exception; inline within a command or once closed."""
        done: Future[None] = Future()

        def settle() -> None:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - re-raised in the waiting thread
                done.set_exception(error)
            else:
                done.set_result(None)

        if threading.current_thread() is self._thread or not self._take(settle):
            act()
        else:
            done.result()

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Start a background job; a running job of the same name is cancelled."""
        self.stop(name)
        if not self._is_open:
            return
        stop = self._stops[name] = threading.Event()
        threading.Thread(
            target=self._guarded, args=(lambda: work(stop.is_set),), name=f"lhkit-{name}", daemon=True
        ).start()

    def stop(self, name: str) -> None:
        """Request the cancellation of a job."""
        if (stop := self._stops.pop(name, None)) is not None:
            stop.set()

    def close(self) -> None:
        """Cancel all jobs and refuse further commands; queued ones are still executed."""
        with self._lock:
            self._is_open = False
        for name in tuple(self._stops):
            self.stop(name)

    def _take(self, act: Callable[[], None]) -> bool:
        with self._lock:
            if not self._is_open:
                return False
            self._waiting.append(act)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="lhkit-workbench", daemon=True)
                self._thread.start()
        return True

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                act = self._waiting.popleft()
            act()
            del act  # it may hold the last reference to a workbench

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - reported
            self._report(error)


_OPEN: weakref.WeakSet[ThreadJobs] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close all queues at exit, when no thread can be started any more."""
    for jobs in tuple(_OPEN):
        jobs.close()
