"""The texts that a request works on, and failures whose places point into them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
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


class Places:
    """Makes places that the compiler says those that people know: it has labels for files, and counts bytes."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {s.label: s for s in sources}
        # Lines of texts in which bytes are not characters. They end where MLIR ends them, at line feeds only.
        self._lines = {
            s.label: s.content.split(b"\n")
            for s in self._sources.values()
            if not s.is_bytecode and not s.content.isascii()
        }

    def known(self, span: Span) -> Span:
        """Return a place with the file's name that people know and its column in characters."""
        source = self._sources.get(span.file)
        if source is None:
            return span
        lines = self._lines.get(span.file, [])
        column = span.column
        if 1 <= span.line <= len(lines):
            column = len(lines[span.line - 1][: span.column - 1].decode(errors="replace")) + 1
        return Span(source.name, span.line, column)

    def said(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic with its places and those of its notes as people know them."""
        span = None if diagnostic.span is None else self.known(diagnostic.span)
        return dataclasses.replace(diagnostic, span=span, notes=tuple(map(self.said, diagnostic.notes)))


def failure_in(
    sources: Sequence[Source],
    kind: FailureKind,
    message: str,
    diagnostics: tuple[Diagnostic, ...] = (),
    **more: Any,
) -> Failure:
    """Return a failure whose places use the names people know, with the texts that carets need."""
    diagnostics = tuple(map(Places(sources).said, diagnostics))
    files = {span.file for d in diagnostics for span in _spans(d)}
    texts = tuple(
        (s.name, s.content.decode(errors="replace")) for s in sources if s.name in files and not s.is_bytecode
    )
    return Failure(kind=kind, message=message, diagnostics=diagnostics, texts=texts, **more)


def _spans(diagnostic: Diagnostic) -> list[Span]:
    own = [diagnostic.span] if diagnostic.span else []
    return own + [span for note in diagnostic.notes for span in _spans(note)]
