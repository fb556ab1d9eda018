"""What went wrong, as a value: kind, place, reason, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from lhkit.model.printable import shortened
from lhkit.model.span import Span, excerpt

FailureKind = Literal[
    "invalidated-handle",
    "repeated-payload",
    "silenceable",
    "definite",
    "invalid-payload",
    "payload-parse",
    "payload-verify",
    "schedule-parse",
    "schedule-verify",
    "lowering",
    "wrong-result",
    "usage",
    "crash",
    "timeout",
    "memory",
    "cancelled",
]

FAILURE_KINDS: tuple[str, ...] = get_args(FailureKind)

# Types may be of any length; what is left out of one is its middle.
_MOST_OF_A_MESSAGE = 1500
_EXIT_CODES: Mapping[str, int] = {
    "usage": 2,
    "payload-parse": 2,
    "schedule-parse": 2,
    "crash": 3,
    "timeout": 3,
    "memory": 3,
    "cancelled": 130,
}


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
    def exit_code(self) -> int:
        """The exit code of the command line for this kind of failure."""
        return _EXIT_CODES.get(self.kind, 1)

    @property
    def span(self) -> Span | None:
        """The first place that a diagnostic names."""
        return next((d.span for d in self.diagnostics if d.span is not None), None)

    def describe(self) -> str:
        """Return the message for people: what, where with carets, why, and what to do next."""
        said_below = bool(self.diagnostics) and self.diagnostics[0].message == self.message
        blocks = [] if said_below else [shortened(self.message, _MOST_OF_A_MESSAGE)]
        for diagnostic in self.diagnostics:
            blocks.extend(describe_diagnostic(diagnostic, dict(self.texts)))
        if self.output.strip():
            blocks.append("the compiler printed:\n" + _indent(_tail(self.output.strip())))
        if self.advice:
            blocks.append(self.advice)
        if self.reproducer:
            # A defect of lhkit itself leaves a folder.
            what = "A file that repeats this" if self.reproducer.endswith(".json") else "A folder for a report"
            blocks.append(f"{what}: {self.reproducer}")
        return "\n".join(blocks)


def describe_diagnostic(diagnostic: Diagnostic, texts: Mapping[str, str]) -> list[str]:
    """Return a diagnostic and its notes as lines, each place with its source line and a caret."""
    place = f"{diagnostic.span}: " if diagnostic.span else ""
    # Some messages carry a whole operation; its first line tells which.
    message, _, rest = diagnostic.message.strip().partition("\n")
    message = shortened(message, _MOST_OF_A_MESSAGE)
    lines = [f"{place}{diagnostic.severity}: {message}{' …' if rest else ''}"]
    if diagnostic.span and (shown := excerpt(diagnostic.span, texts)):
        lines.append(shown)
    for note in diagnostic.notes:
        lines.extend(describe_diagnostic(note, texts))
    return lines


def _indent(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def _tail(text: str, *, lines: int = 12) -> str:
    kept = text.splitlines()
    return "\n".join(kept if len(kept) <= lines else [f"… {len(kept) - lines} lines before", *kept[-lines:]])
