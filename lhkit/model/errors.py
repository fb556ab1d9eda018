"""Exceptions that carry a `Failure`: one class for each way of reacting to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.printable import printable
from lhkit.model.span import Span


class LhkitError(Exception):
    """Something that lhkit was asked for failed; ``failure`` says all that is known about it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(printable(failure.describe()))
        self.failure = failure

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes as class and failure: ``args`` holds the message, which makes no error."""
        return type(self), (self.failure,), {k: v for k, v in self.__dict__.items() if k != "failure"}

    def _render_traceback_(self) -> list[str]:
        """Show the message instead of a traceback when a notebook cell ends with this error."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(LhkitError):
    """The input cannot be meant: no such file, unknown name, mismatched arguments."""


class PayloadError(LhkitError):
    """The payload does not parse, does not verify, or cannot be lowered."""


class ScheduleError(LhkitError):
    """The schedule does not parse, does not verify, or does not apply."""


class InvalidatedHandleError(ScheduleError):
    """A step uses a handle that an earlier step invalidated."""


class DefectError(LhkitError):
    """lhkit itself has a defect; the failure names a folder with what is needed to find it."""


class WrongResultError(LhkitError):
    """A kernel ran and its result differs from the reference by more than the tolerance."""


class WorkerError(LhkitError):
    """The worker process did not survive the request."""


class CrashError(WorkerError):
    """The worker died of a signal, an abort, or wrote garbage."""


class TimeLimitError(WorkerError):
    """The request took longer than its time limit."""


class MemoryLimitError(WorkerError):
    """The worker took more memory than its limit."""


_CLASSES: Mapping[str, type[LhkitError]] = {
    "usage": UsageError,
    "payload-parse": PayloadError,
    "payload-verify": PayloadError,
    "lowering": PayloadError,
    "schedule-parse": ScheduleError,
    "schedule-verify": ScheduleError,
    "silenceable": ScheduleError,
    "definite": ScheduleError,
    "repeated-payload": ScheduleError,
    "invalid-payload": ScheduleError,
    "invalidated-handle": InvalidatedHandleError,
    "wrong-result": WrongResultError,
    "crash": CrashError,
    "timeout": TimeLimitError,
    "memory": MemoryLimitError,
}


DEFECT_ADVICE = "This is a mistake in lhkit, not in your input. Please report it."


def defect_message(what: str) -> str:
    """Return the message for a failure that lhkit does not know.

    Args:
        what: What failed, and with which exception.
    """
    return f"a defect in lhkit: {what}"


def error_for(failure: Failure) -> LhkitError:
    """Return the exception that fits a failure's kind."""
    return _CLASSES.get(failure.kind, LhkitError)(failure)


def usage_error(
    message: str, advice: str | None = None, *, at: Span | None = None, text: str = ""
) -> UsageError:
    """Return the error for input that cannot be meant.

    Args:
        message: What is wrong, in one sentence.
        advice: What to do instead.
        at: The place that it is about, in a source with this ``text``.
        text: The source.
    """
    if at is None:
        return UsageError(Failure(kind="usage", message=message, advice=advice))
    here = Diagnostic("error", message, at)
    return UsageError(Failure("usage", message, (here,), advice, texts=((at.file, text),)))
