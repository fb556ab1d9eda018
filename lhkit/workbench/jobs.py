"""Where the work of a workbench is done: commands one after the other, longer searches beside them."""

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
    """Does work for a workbench; nothing of a workbench is touched but by what is posted."""

    def post(self, act: Callable[[], None]) -> None:
        """Act when the commands before are done."""

    def run(self, act: Callable[[], None]) -> None:
        """Act when the commands before are done, and wait for that."""

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Begin to work beside the commands; a job of that name that still runs is asked to stop."""

    def stop(self, name: str) -> None:
        """Ask a job to stop."""


class InlineJobs:
    """Does everything at once, where it is asked for: what tests and scripts use."""

    def post(self, act: Callable[[], None]) -> None:
        """Act now."""
        act()

    def run(self, act: Callable[[], None]) -> None:
        """Act now."""
        act()

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Work now."""
        work(lambda: False)

    def stop(self, name: str) -> None:
        """Do nothing: what was begun is over."""


class ThreadJobs:
    """A thread for commands, one for each job: a kernel stays free, whatever the compiler does.

    A thread is there while there is something to do, so that a workbench that nobody uses costs none.
    """

    def __init__(self, report: Callable[[Exception], None]) -> None:
        """Begin.

        Args:
            report: Called with what a command or job raised and should not have.
        """
        self._report = report
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._is_open = True
        self._stops: dict[str, threading.Event] = {}
        _OPEN.add(self)

    def post(self, act: Callable[[], None]) -> None:
        """Act when the commands before are done; nothing is done any more once it is closed."""
        self._take(functools.partial(self._guarded, act))

    def run(self, act: Callable[[], None]) -> None:
        """Act when the commands before are done, and wait for that; what it raises is raised here.

        Once it is closed, and within a command, it is done at once.
        """
        done: Future[None] = Future()

        def settle() -> None:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                done.set_exception(error)
            else:
                done.set_result(None)

        if threading.current_thread() is self._thread or not self._take(settle):
            act()
        else:
            done.result()

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Begin to work beside the commands; a job of that name that still runs is asked to stop."""
        self.stop(name)
        if not self._is_open:
            return
        stop = self._stops[name] = threading.Event()
        threading.Thread(
            target=self._guarded, args=(lambda: work(stop.is_set),), name=f"lhkit-{name}", daemon=True
        ).start()

    def stop(self, name: str) -> None:
        """Ask a job to stop."""
        if (stop := self._stops.pop(name, None)) is not None:
            stop.set()

    def close(self) -> None:
        """Ask all jobs to stop, and take no more commands; those that wait are done."""
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
            del act  # what it holds may be a workbench that nobody else has any more

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - it is reported, and the workbench goes on
            self._report(error)


_OPEN: weakref.WeakSet[ThreadJobs] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Take no more commands when the kernel ends: no thread can be started from then on."""
    for jobs in tuple(_OPEN):
        jobs.close()
