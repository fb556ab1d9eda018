"""Exceptions that carry a `Failure`, one class per way to react."""

from __future__ import annotations

import functools
import importlib
import re
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar, get_args

from lhkit.model.printable import printable, shortened
from lhkit.model.span import Span, excerpt

FailureKind = Literal[
    "invalidated-handle", "repeated-payload", "silenceable", "definite", "invalid-payload", "payload-parse",
    "payload-verify", "schedule-parse", "schedule-verify", "lowering", "wrong-result", "usage", "crash",
    "timeout", "memory", "cancelled", "unmet-expectation",
]  # fmt: skip

FAILURE_KINDS: tuple[str, ...] = get_args(FailureKind)

# Types may be of any length; what is left out of one is its middle.
_MOST_OF_A_MESSAGE = 1500


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of the compiler, with its place and the notes that belong to it."""

    severity: str
    message: str
    span: Span | None = None
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A typed failure.

    Attributes:
        kind: One of ``FAILURE_KINDS``.
        message: What went wrong, in one sentence.
        diagnostics: What the compiler said, with places.
        advice: What to do next, or None.
        request: What was being asked of the worker, or None.
        stage: How far the request had come (``parse``, ``apply``, ``bufferize``, ``lower``, ``jit``, ``call``).
        last_good_ir: The payload as it was before the stage that failed, or None.
        reproducer: Path of a file that repeats the failure, or None.
        output: What the compiler had printed, cut to its end.
        texts: The sources that spans point into, each as (file name, text).
    """

    kind: FailureKind
    message: str
    diagnostics: tuple[Diagnostic, ...] = ()
    advice: str | None = None
    request: str | None = None
    stage: str | None = None
    last_good_ir: str | None = None
    reproducer: str | None = None
    output: str = ""
    texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def reaction(self) -> Reaction:
        """The exception, exit code and statuses of this kind of failure."""
        return REACTIONS[self.kind]

    @property
    def exit_code(self) -> int:
        """The exit code of the command line for this kind of failure."""
        return self.reaction.exit_code

    @property
    def span(self) -> Span | None:
        """The first place that a diagnostic names."""
        return next((d.span for d in self.diagnostics if d.span is not None), None)

    def in_a_line(self) -> str:
        """Return what went wrong, where and why, in a line."""
        said = self.message
        for diagnostic in self.diagnostics[:1]:
            place = f"{diagnostic.span}: " if diagnostic.span else ""
            reason = diagnostic.message.strip().partition("\n")[0]
            if reason and reason not in said:
                said += f": {place}{reason}"
        return said

    def describe(self) -> str:
        """Return the message for people: what, where with carets, why, and what to do next."""
        said = head_of(self.message, self.diagnostics)
        blocks = [shortened(said, _MOST_OF_A_MESSAGE)] if said else []
        for diagnostic in self.diagnostics:
            blocks.extend(describe_diagnostic(diagnostic, dict(self.texts)))
        if self.output.strip():
            blocks.append("the compiler printed:\n" + _tail(self.output.strip()))
        if self.advice:
            blocks.append(self.advice)
        if self.reproducer:
            # A defect of lhkit itself leaves a folder.
            what = "A file that repeats this" if self.reproducer.endswith(".json") else "A folder for a report"
            blocks.append(f"{what}: {self.reproducer}")
        return "\n".join(blocks)


def head_of(message: str, diagnostics: Sequence[Diagnostic]) -> str:
    """Return a message without the end that repeats the first diagnostic, which is shown below it."""
    first = diagnostics[0].message.strip().partition("\n")[0] if diagnostics else ""
    return message.removesuffix(first).rstrip() if first else message


def describe_diagnostic(diagnostic: Diagnostic, texts: Mapping[str, str]) -> list[str]:
    """Return a diagnostic and its notes as lines, each place with its source line and a caret."""
    place = f"{diagnostic.span}: " if diagnostic.span else ""
    # Some messages carry a whole operation; its first line tells which.
    message, _, rest = diagnostic.message.strip().partition("\n")
    message = shortened(message, _MOST_OF_A_MESSAGE)
    lines = [f"{place}{diagnostic.severity}: {message}{' …' if rest else ''}"]
    if diagnostic.span and (shown := excerpt(diagnostic.span, texts, about=handles_in(message))):
        lines.append(shown)
    for note in diagnostic.notes:
        lines.extend(describe_diagnostic(note, texts))
    return lines


def handles_in(message: str) -> list[str]:
    """Return the names of handles in a message, which the source line below it may have."""
    return re.findall(r"%[A-Za-z_][\w$-]*", message)


def _tail(text: str, *, most: int = 12) -> str:
    """Return the last lines of a text, indented."""
    lines = text.splitlines()
    if len(lines) > most:
        lines = [f"… {len(lines) - most} lines before", *lines[-most:]]
    return "\n".join(f"  {line}" for line in lines)


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


OutcomeStatus = Literal["ok", "failed", "crashed", "timeout", "out-of-memory", "cancelled"]
VariantFailure = Literal[
    "invalid-config",
    "schedule-failed",
    "unmet-expectation",
    "compile-failed",
    "crashed",
    "timeout",
    "out-of-memory",
]


@dataclass(frozen=True, slots=True)
class Reaction:
    """The exception, exit code and statuses of one kind of failure."""

    error: type[LhkitError]  # The exception
    exit_code: int = 1  # Of the command line
    outcome: OutcomeStatus = "failed"  # Status of a trace
    variant: VariantFailure = "schedule-failed"  # Status of a variant in a sweep


REACTIONS: Mapping[FailureKind, Reaction] = {
    "usage": Reaction(UsageError, 2, variant="invalid-config"),
    "payload-parse": Reaction(PayloadError, 2, variant="compile-failed"),
    "payload-verify": Reaction(PayloadError, variant="compile-failed"),
    "lowering": Reaction(PayloadError, variant="compile-failed"),
    "schedule-parse": Reaction(ScheduleError, 2),
    "schedule-verify": Reaction(ScheduleError),
    "silenceable": Reaction(ScheduleError),
    "definite": Reaction(ScheduleError),
    "repeated-payload": Reaction(ScheduleError),
    "invalid-payload": Reaction(ScheduleError),
    "invalidated-handle": Reaction(InvalidatedHandleError),
    "unmet-expectation": Reaction(ScheduleError, variant="unmet-expectation"),
    "wrong-result": Reaction(WrongResultError),
    "crash": Reaction(CrashError, 3, "crashed", "crashed"),
    "timeout": Reaction(TimeLimitError, 3, "timeout", "timeout"),
    "memory": Reaction(MemoryLimitError, 3, "out-of-memory", "out-of-memory"),
    "cancelled": Reaction(LhkitError, 130, "cancelled"),
}


def defect(what: str, *, request: str | None = None, reproducer: str | None = None) -> Failure:
    """Return the failure for an exception that is not typed: what failed, and with which exception."""
    advice = "This is a mistake in lhkit, not in your input. Please report it."
    return Failure("crash", f"a defect in lhkit: {what}", (), advice, request, reproducer=reproducer)


def error_for(failure: Failure) -> LhkitError:
    """Return the exception that fits a failure's kind."""
    return failure.reaction.error(failure)


def usage_error(
    message: str, advice: str | None = None, *, at: Span | None = None, text: str = ""
) -> UsageError:
    """Return the error for input that cannot be meant; ``text`` is the source that ``at`` is a place in."""
    if at is None:
        return UsageError(Failure(kind="usage", message=message, advice=advice))
    here = Diagnostic("error", message, at)
    return UsageError(Failure("usage", message, (here,), advice, texts=((at.file, text),)))


P = ParamSpec("P")
T = TypeVar("T")

_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def public(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that users call raise typed errors only; name, signature and documentation stay.

    Passed on as they are: every `LhkitError`, a `TypeError` about the call itself, and what code of the user's
    raised that lhkit called.
    """

    @functools.wraps(function)
    def guarded(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except LhkitError:
            raise
        except Exception as error:
            called = error.__traceback__.tb_next if error.__traceback__ is not None else None
            if called is None or _has_foreign_frame(called):
                raise
            raise _typed(error, function.__qualname__, (*args, *options.values())) from error

    return guarded


def _has_foreign_frame(traceback: TracebackType | None) -> bool:
    """Return whether code took part that is neither lhkit's nor a library's."""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith((_PACKAGE, *_LIBRARIES, "<frozen", "<string>", "<__array_function__")):
            return True
        traceback = traceback.tb_next
    return False


def _typed(error: Exception, name: str, values: tuple[Any, ...]) -> Exception:
    # What makes the folder is loaded when it is needed.
    defects = importlib.import_module("lhkit.worker.reproducer")
    shown = ", ".join(f"<{type(v).__name__} {getattr(v, 'source', '')}>".replace(" >", ">") for v in values)
    texts = {f"{i}.mlir": getattr(v, "text", None) for i, v in enumerate(values)}
    inputs = {k: t.encode(errors="replace") for k, t in texts.items() if isinstance(t, str)}
    typed: Exception = defects.typed_error(error, f"{name}({shown})", inputs)
    return typed
