"""Cross-thread cancellation of the pending work of a session."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from types import TracebackType

from lhkit.model.errors import Failure
from lhkit.worker.limits import Limits


class CancelToken:
    """Cancellation token of a session for work inside ``with token:``; later work is not cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._depth = 0

    def __enter__(self) -> CancelToken:
        with self._lock:
            if self._depth == 0:
                self._cancelled.clear()
            self._depth += 1
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self._lock:
            self._depth -= 1

    @property
    def is_cancelled(self) -> bool:
        """Whether the pending work is to end."""
        return self._cancelled.is_set()

    def pending(self) -> Callable[[], None]:
        """Count queued work as pending until the returned function is called, so that no cancel is lost."""
        self.__enter__()
        return self.__exit__

    def cancel(self) -> bool:
        """Request cancellation, from any thread; return whether any work is pending."""
        with self._lock:
            if self._depth:
                self._cancelled.set()
            return self._depth > 0

    def limited(self, limits: Limits | None) -> Limits:
        """Return limits whose requests end on cancellation."""
        return dataclasses.replace(limits or Limits(), stopped=lambda: self.is_cancelled)


def was_stopped(failure: Failure | None) -> bool:
    """Return whether the failure is a cancellation."""
    return failure is not None and failure.kind == "cancelled"


def in_words(failure: Failure, what: str) -> Failure:
    """Return a failure; a cancellation names ``what`` was cancelled instead of the worker's request."""
    if not was_stopped(failure):
        return failure
    return Failure("cancelled", f"{what} was stopped", advice="The next change starts it again.")
