"""Exceptions of own ops, kept until the interpreter has stopped and its caller asks for them."""

from __future__ import annotations

import contextlib
import dataclasses
import traceback
from collections.abc import Iterator
from typing import Any, Literal

from lhkit.compiler.ir.parsing import span_of
from lhkit.model.errors import Diagnostic
from lhkit.model.own_op_definition import OwnOp, OwnOpError, SilenceableError
from lhkit.model.span import Span
from lhkit.worker.requests import Source

# What the interpreter says of a silenceable failure of an op that is defined in Python.
_MARK = "TransformOpInterfaceFallbackModel: silenceable failure"

OwnKind = Literal["silenceable", "definite"]


@dataclasses.dataclass(frozen=True, slots=True)
class OwnFailure:
    """A failed application of an own op."""

    kind: OwnKind  # as the op said; what it did not mean to raise is definite
    diagnostic: Diagnostic  # at the op's place in the schedule
    sources: tuple[Source, ...]  # the text of the file that its notes point into


_failures: list[OwnFailure] = []
_texts: dict[str, Source] = {}


def know_text(source: Source) -> None:
    """Keep the text of a file with own ops, for carets."""
    _texts[source.name] = source


def forget_failures() -> None:
    """Forget what was raised; before a schedule is applied."""
    _failures.clear()


@contextlib.contextmanager
def failures_set_aside() -> Iterator[None]:
    """Forget what is raised inside of a ``with`` statement when it ends, and nothing else."""
    before = _failures.copy()
    _failures.clear()
    try:
        yield
    finally:
        _failures[:] = before


def is_empty_diagnostic(message: str) -> bool:
    """Return True if the interpreter says only that an op that is defined in Python failed."""
    return not message.strip() or _MARK in message


def remember(own: OwnOp, op: Any, error: BaseException) -> OwnKind:
    """Keep what an op raised and return what kind of failure it is."""
    kind: OwnKind = "silenceable" if isinstance(error, SilenceableError) else "definite"
    if isinstance(error, OwnOpError):
        message = str(error)
    else:
        said = str(error).strip().partition("\n")[0]
        message = f"raised {type(error).__name__}" + (f": {said}" if said else "")
    notes = []
    if getattr(error, "at", None) is not None:
        at = error.at.operation  # type: ignore[attr-defined]
        notes.append(Diagnostic("note", f"for this payload op: {at.name}", span_of(at.location)))
    for said, about in error.notes if isinstance(error, OwnOpError) else ():
        notes.append(Diagnostic("note", said, span_of(about.operation.location)))
    place = place_in(own.file, error)
    if place is not None and own.file in _texts:
        notes.append(Diagnostic("note", f"{type(error).__name__} was raised here", place))
    diagnostic = Diagnostic("error", f"{own.name}: {message}", span_of(op.location), tuple(notes))
    known = (_texts[own.file],) if own.file in _texts else ()
    _failures.append(OwnFailure(kind, diagnostic, known))
    return kind


def place_in(file: str, error: BaseException) -> Span | None:
    """Return the innermost place in a file that an exception went through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == file and frame.lineno is not None:
            return Span(file, frame.lineno, (frame.colno or 0) + 1)
    return None


def blame_own_op(diagnostics: tuple[Diagnostic, ...]) -> tuple[OwnFailure | None, tuple[Diagnostic, ...]]:
    """Return the own op's failure that made an application fail, or None, and the diagnostics with its own."""
    if not _failures:
        return None, diagnostics
    marked = [d.span for d in diagnostics if _MARK in d.message]
    others = tuple(d for d in diagnostics if not is_empty_diagnostic(d.message))
    # Nothing runs after a definite failure; silenceable ones may have been silenced.
    is_definite = _failures[-1].kind == "definite"
    said = [f for f in _failures if is_definite or f.diagnostic.span in marked]
    if not said:
        return None, others
    return said[-1], (said[-1].diagnostic, *others)
