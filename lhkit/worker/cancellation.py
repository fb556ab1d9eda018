"""Ending what a session waits for: asked in one thread, heard in another."""

from __future__ import annotations

import dataclasses
import threading
from types import TracebackType

from lhkit.model.errors import Failure
from lhkit.worker.limits import Limits


class Halt:
    """Whether that which is being done is still wanted; ``with halt:`` is while it is being done.

    What is asked for while nothing is done is not heard, so that it does not end what comes next.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = threading.Event()
        self._depth = 0

    def __enter__(self) -> Halt:
        with self._lock:
            if self._depth == 0:
                self._asked.clear()
            self._depth += 1
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self._lock:
            self._depth -= 1

    def ask(self) -> bool:
        """Ask that what is being done ends, from any thread; return whether anything is."""
        with self._lock:
            if self._depth:
                self._asked.set()
            return self._depth > 0

    def limited(self, limits: Limits | None) -> Limits:
        """Return limits whose requests end when this is asked."""
        return dataclasses.replace(limits or Limits(), stopped=self._asked.is_set)


def was_stopped(failure: Failure | None) -> bool:
    """Return whether something failed because it was no longer wanted."""
    return failure is not None and failure.kind == "cancelled"


def in_words(failure: Failure, what: str) -> Failure:
    """Return a failure as a session says it: of what was stopped, that it was, instead of the request's name.

    Args:
        failure: The failure.
        what: What was being done.
    """
    if not was_stopped(failure):
        return failure
    return Failure("cancelled", f"{what} was stopped", advice="The next change takes it up again.")
