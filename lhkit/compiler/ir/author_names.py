"""Names of handles as their author wrote them, found in the source text at the places of the IR."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lhkit.compiler.ir.bindings import ir
from lhkit.compiler.ir.parsing import Places, span_of
from lhkit.model.span import Span
from lhkit.worker.requests import Source

_NAME = r"%[\w$.-]+"
_RESULTS = re.compile(rf"((?:{_NAME}(?:\s*:\s*\d+)?\s*,\s*)*{_NAME}(?:\s*:\s*\d+)?)\s*=\s*\Z")
_RESULT = re.compile(rf"({_NAME})(?:\s*:\s*(\d+))?")
_ARGUMENT = re.compile(_NAME)
# Names stand at most this far left of their op, in characters.
_REACH = 2000


def _results_before(text: str, end: int) -> re.Match[str] | None:
    """Return the names of results that end at a place; most begin their line, which is a short search."""
    line = text.rfind("\n", 0, end) + 1
    found = _RESULTS.search(text, line, end)
    above = text[max(line - _REACH, 0) : line].rstrip()
    if found and not text[line : found.start()].strip() and not above.endswith(","):
        return found
    return _RESULTS.search(text, max(end - _REACH, 0), end)


class Names:
    """Names and places of the values and ops of a schedule's sources."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._texts = {s.label: s.content.decode(errors="replace") for s in sources if not s.is_bytecode}
        self._starts: dict[str, list[int]] = {}
        self._places = Places(sources)

    def place(self, location: Any) -> Span | None:
        """Return a location as people know it, or None if it names no file."""
        if isinstance(location, ir.FileLineColLoc):
            if location.start_line == 0:  # a module around the text has no place in it
                return None
            return self._places.known(Span(location.filename, location.start_line, location.start_col))
        if isinstance(location, ir.UnknownLoc):  # bodies of named ops: thousands
            return None
        span = span_of(location)
        return None if span is None else self._places.known(span)

    def results(self, op: Any) -> tuple[str, ...]:
        """Return the name of each result of an op: ``%x``, or ``%x#1`` for one of several."""
        if not len(op.results):
            return ()
        names = self._written_results(op.location)
        return tuple(names) if len(names) == len(op.results) else tuple(r.get_name() for r in op.results)

    def result_at(self, location: Any) -> str:
        """Return the name that the source gives to the (first) result at a location, or ""."""
        return next(iter(self._written_results(location)), "")

    def _written_results(self, location: Any) -> list[str]:
        at = self._offset(location)
        written = _results_before(*at) if at else None
        names: list[str] = []
        for match in _RESULT.finditer(written[1] if written else ""):
            count = int(match[2] or 1)
            names += [match[1]] if count == 1 else [f"{match[1]}#{i}" for i in range(count)]
        return names

    def written_place(self, op: Any) -> tuple[int, int] | None:
        """Return line and column (in characters) of an op's name; None if its location says another place."""
        at = self._offset(op.location)
        # Some regions let their ops leave out the dialect.
        spellings = (op.name, f'"{op.name}"', op.name.partition(".")[2])
        if at is None or not at[0].startswith(spellings, at[1]):
            return None
        text, offset = at
        return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)

    def is_inside(self, location: Any) -> bool:
        """Return True if a location is in one of the sources."""
        return self._offset(location) is not None

    def argument(self, argument: Any) -> str:
        """Return the name of a block argument."""
        at = self._offset(argument.location)
        match = _ARGUMENT.match(at[0], at[1]) if at else None
        return match[0] if match else str(argument.get_name())

    def _offset(self, location: Any) -> tuple[str, int] | None:
        span = span_of(location)
        text = self._texts.get(span.file) if span else None
        if span is None or text is None:
            return None
        if span.file not in self._starts:
            # Lines end where MLIR ends them, at line feeds only.
            self._starts[span.file] = [0, *(end.end() for end in re.finditer("\n", text))]
        starts = self._starts[span.file]
        if span.line > len(starts):
            return None
        start = starts[span.line - 1]
        # MLIR counts columns in bytes.
        left = text[start : start + span.column - 1]
        if not left.isascii():
            left = left.encode()[: span.column - 1].decode(errors="ignore")
        return text, start + len(left)
