"""Source spans, and the lines shown for them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: ``file`` as the user knows it, ``line`` and ``column`` from 1, in characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@functools.lru_cache(maxsize=8)
def _lines_of(text: str) -> tuple[str, ...]:
    """Return the lines of a text, split once for the many places that are shown of it."""
    return tuple(text.splitlines())


def excerpt(span: Span, texts: Mapping[str, str], *, about: Iterable[str] = (), width: int = 110) -> str:
    """Return the source line of a span with a caret under its column, or "" if the text is unknown.

    The first of the words ``about`` that is on the line elsewhere is underlined.
    """
    lines = _lines_of(texts.get(span.file, ""))
    if not 1 <= span.line <= len(lines):
        return ""
    # Tabs would move the caret, control characters could steer a terminal.
    line = "".join(c if c.isprintable() else " " for c in lines[span.line - 1])
    column = min(max(span.column, 1), len(line) + 1)
    start = max(0, min(column - 1 - width // 2, len(line) - width))
    shown = line[start : start + width]
    head, tail = "…" if start else "", "…" if start + width < len(line) else ""
    gutter = f"{span.line:>6} | "
    margin = len(gutter) + len(head) - start
    marks = {margin + column - 1: "^"}
    for word in about:
        found = next((m for m in _whole(word, line) if m.start() >= start and m.end() <= start + width), None)
        if found is not None and not found.start() <= column - 1 < found.end():
            marks |= {margin + at: "~" for at in range(*found.span())}
            break
    below = "".join(marks.get(at, " ") for at in range(max(marks) + 1))
    return f"{gutter}{head}{shown}{tail}\n{below}"


def _whole(word: str, line: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"{re.escape(word)}(?![\w$.-])", line)
