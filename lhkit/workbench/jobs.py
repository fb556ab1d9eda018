"""Where the work of a workbench is done: commands one after the other, longer searches beside them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

Stopped = Callable[[], bool]


class Jobs(Protocol):
    """Does work for a workbench; nothing of a workbench is touched but by what is posted."""

    def post(self, act: Callable[[], None]) -> None:
        """Act when the commands before are done."""

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Begin to work beside the commands; a job of that name that still runs is asked to stop."""

    def stop(self, name: str) -> None:
        """Ask a job to stop."""


class InlineJobs:
    """Does everything at once, where it is asked for: what tests and scripts use."""

    def post(self, act: Callable[[], None]) -> None:
        """Act now."""
        act()

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Work now."""
        work(lambda: False)

    def stop(self, name: str) -> None:
        """Do nothing: what was begun is over."""


class ThreadJobs:
    """One thread for commands, one for each job: a kernel stays free, whatever the compiler does."""

    def __init__(self, report: Callable[[Exception], None]) -> None:
        """Begin.

        Args:
            report: Called with what a command or job raised and should not have.
        """
        self._report = report
        self._commands = ThreadPoolExecutor(1, "lhkit-workbench")
        self._stops: dict[str, threading.Event] = {}

    def post(self, act: Callable[[], None]) -> None:
        """Act when the commands before are done."""
        self._commands.submit(self._guarded, act)

    def start(self, name: str, work: Callable[[Stopped], None]) -> None:
        """Begin to work beside the commands; a job of that name that still runs is asked to stop."""
        self.stop(name)
        stop = self._stops[name] = threading.Event()
        threading.Thread(
            target=self._guarded, args=(lambda: work(stop.is_set),), name=f"lhkit-{name}", daemon=True
        ).start()

    def stop(self, name: str) -> None:
        """Ask a job to stop."""
        if (stop := self._stops.pop(name, None)) is not None:
            stop.set()

    def close(self) -> None:
        """Ask all jobs to stop, and take no more commands."""
        for name in tuple(self._stops):
            self.stop(name)
        self._commands.shutdown(wait=False, cancel_futures=True)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            logging.getLogger("lhkit").exception("the workbench failed")
            self._report(error)
