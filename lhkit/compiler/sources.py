"""The texts that a request works on, and failures whose places point into them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lhkit.model.failure import Diagnostic, Failure, FailureKind
from lhkit.model.span import Span

_BYTECODE_MAGIC = b"ML\xefR"


@dataclass(frozen=True, slots=True)
class Source:
    """A text or bytecode to be parsed.

    Attributes:
        role: ``payload`` or ``schedule`` (a library is one too): decides the kind of its failures; ``code``
            is what is not IR.
        label: The file name that locations in the IR carry, unique in a request.
        name: The file name that people are shown.
        content: MLIR text (UTF-8) or bytecode.
    """

    role: Literal["payload", "schedule", "code"]
    label: str
    name: str
    content: bytes

    @property
    def is_bytecode(self) -> bool:
        """True if the content starts as bytecode does."""
        return self.content.startswith(_BYTECODE_MAGIC)


def failure_in(
    sources: Sequence[Source],
    kind: FailureKind,
    message: str,
    diagnostics: tuple[Diagnostic, ...] = (),
    **more: Any,
) -> Failure:
    """Return a failure whose places use the names people know, with the texts that carets need."""
    names = {s.label: s.name for s in sources}
    diagnostics = tuple(rename_places(d, names) for d in diagnostics)
    files = {span.file for d in diagnostics for span in _spans(d)}
    texts = tuple(
        (s.name, s.content.decode(errors="replace")) for s in sources if s.name in files and not s.is_bytecode
    )
    return Failure(kind=kind, message=message, diagnostics=diagnostics, texts=texts, **more)


def rename_places(diagnostic: Diagnostic, names: dict[str, str]) -> Diagnostic:
    """Return a diagnostic whose places use the names people know, given by label."""
    span = diagnostic.span
    if span is not None:
        span = Span(names.get(span.file, span.file), span.line, span.column)
    notes = tuple(rename_places(n, names) for n in diagnostic.notes)
    return dataclasses.replace(diagnostic, span=span, notes=notes)


def _spans(diagnostic: Diagnostic) -> list[Span]:
    own = [diagnostic.span] if diagnostic.span else []
    return own + [span for note in diagnostic.notes for span in _spans(note)]
