"""What the compiler says, as values: from structured errors and from flattened text."""

from __future__ import annotations

import re
from typing import Any

from lhkit.model.errors import Diagnostic, FailureKind, UsageError, usage_error
from lhkit.model.span import Span

_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
# A note begins on a new line, a message wherever the one before it ends.
_FLAT = re.compile(r"(?:\nDiagnostic message |(?P<note>\n))?at (?P<at>loc\(.*?\)): ")
_CURRENT_OPERATION = "see current operation"


def span_of(location: object) -> Span | None:
    """Return the first file place that a location names (the innermost of a name or fused one)."""
    match = _FILE_LOCATION.search(str(location))
    if match is None or int(match[2]) == 0:
        return None
    return Span(file=match[1], line=int(match[2]), column=int(match[3]))


def from_structured(error: Any) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an ``MLIRError``."""
    return tuple(convert(d) for d in error.error_diagnostics) or (Diagnostic("error", str(error)),)


def convert(info: Any) -> Diagnostic:
    """Return a diagnostic of the bindings as a value."""
    notes = tuple(convert(n) for n in info.notes if not n.message.startswith(_CURRENT_OPERATION))
    severity = str(info.severity).rpartition(".")[2].lower()
    return Diagnostic(severity=severity, message=info.message, span=span_of(info.location), notes=notes)


def is_text_conversion(error: RuntimeError | UnicodeDecodeError) -> bool:
    """Return whether the bindings could not make a string of Python's from one of the IR."""
    return isinstance(error, UnicodeDecodeError) or "str_from_cstr" in str(error)


def not_utf8() -> UsageError:
    """Return the error for IR with a name or string that is not UTF-8, as MLIR itself allows."""
    return usage_error(
        "a name or string in this IR is not UTF-8 text, so it cannot be shown",
        'Replace escapes of bytes above 7F ("\\FF") in the text; bytecode may be damaged: write it again.',
    )


def from_flattened(text: str) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the text in which a failed application arrives.

    Its form: a headline, then ``Diagnostic message at loc(…): message``, ``at loc(…): note`` lines, and further
    messages at the end of the line before. What kind each message is, an error or a remark, is lost.
    """
    starts = list(_FLAT.finditer(text))
    messages: list[Diagnostic] = []
    for i, start in enumerate(starts):
        end = starts[i + 1].start() if i + 1 < len(starts) else len(text)
        message = text[start.end() : end].strip()
        is_note = start["note"] is not None
        entry = Diagnostic("note" if is_note else "error", message, span_of(start["at"]))
        if is_note and messages:
            if message.startswith(_CURRENT_OPERATION):
                continue
            head = messages[-1]
            messages[-1] = Diagnostic(head.severity, head.message, head.span, (*head.notes, entry))
        else:
            messages.append(entry)
    return tuple(messages)


def kind_of_application(diagnostics: tuple[Diagnostic, ...]) -> FailureKind | None:
    """Return the kind of a failed application where its message tells it, else None."""
    text = " ".join(d.message for d in diagnostics)
    if "invalidated by a previously executed transform op" in text:
        return "invalidated-handle"
    if "more than once" in text and "handle" in text:
        return "repeated-payload"
    return None
