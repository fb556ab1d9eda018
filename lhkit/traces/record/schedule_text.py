"""Queries on the text of a schedule: comments that allow warnings, matched names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from lhkit.model.span import Span

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_ALLOW = re.compile(r"//\s*lhkit:\s*allow\s+([\w-]+(?:\s*,\s*[\w-]+)*)")
_NAMES = re.compile(r"\bops\s*\{\s*\[([^\]]*)\]\s*\}")
_FILTER = re.compile(r"\b(interface|attributes|filter_result_type|filter_operand_types)\b")


@dataclass(frozen=True)
class ScheduleText:
    """A text of a schedule, queried by line."""

    text: str

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _code(self) -> str:
        """The text without comments, of the same length."""
        return _STRING_OR_COMMENT.sub(lambda m: " " * len(m[0]) if m[0].startswith("//") else m[0], self.text)

    def allowed(self, line: int) -> frozenset[str]:
        """Return the kinds of warnings that comments allow for the op on a line (from 1)."""
        kinds = set(self._allowed_everywhere)
        for number in (line - 1, line):
            if 1 <= number <= len(self._lines):
                shown = self._lines[number - 1]
                if number == line or shown.lstrip().startswith("//"):
                    kinds |= _allowed_by(shown)
        return frozenset(kinds)

    @cached_property
    def _allowed_everywhere(self) -> frozenset[str]:
        kinds: set[str] = set()
        for line in self._lines:
            if line.strip() and not line.lstrip().startswith("//"):
                break
            kinds |= _allowed_by(line)
        return frozenset(kinds)

    def matched_names(self, span: Span) -> tuple[tuple[str, ...], bool] | None:
        """Return the op names that a match at a place searches for, and whether it has other conditions."""
        start = self._offset(span)
        if start is None:
            return None
        clauses = re.split(r"\sin\s+%", self._code[start : start + 2000], maxsplit=1)[0]
        match = _NAMES.search(clauses)
        names = tuple(re.findall(r'"([^"]+)"', match[1])) if match else ()
        return (names, bool(_FILTER.search(clauses))) if names else None

    def mentions(self, name: str) -> int:
        """Return how often the code names a handle (``%x``)."""
        return len(re.findall(rf"{re.escape(name.partition('#')[0])}(?![\w$.-])", self._code))

    def symbol(self, line: int) -> str | None:
        """Return the symbol that a line declares, as ``@name``."""
        match = re.search(r"@[\w$.-]+", self._lines[line - 1]) if 1 <= line <= len(self._lines) else None
        return match[0] if match else None

    def _offset(self, span: Span) -> int | None:
        if not 1 <= span.line <= len(self._lines):
            return None
        before = self.text.splitlines(keepends=True)[: span.line - 1]
        return sum(map(len, before)) + span.column - 1


def _allowed_by(line: str) -> set[str]:
    return {kind for match in _ALLOW.finditer(line) for kind in re.split(r"\s*,\s*", match[1])}
