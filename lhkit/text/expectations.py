"""Parser of ``// lhkit: expect`` comments; the grammar is in ``docs/expectations.md``."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import Any

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.expectation import Expectation, LoopPattern, Size
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.text.lexer import matching_comments
from lhkit.text.script import names_in

_EXPECT = re.compile(r"//\s*lhkit:\s*expect\b[ \t]*(.*)")
_FORMS = (
    "It reads: expect loops(OP) == [forall 16x32, for 8], expect vectorized OP, expect inside(OP, OP), or"
    " expect none OP; an OP is a handle (%x) or the full name of an op (linalg.matmul)."
)
_LOOPS = ("for", "forall", "parallel", "while")
# An x between numbers, or one with spaces around it, where a name may have an x of its own.
_TIMES = r"(?:(?<=[\d?])x(?=[\d?])|\s+x\s+)"


def expectations_of(schedule: Schedule) -> tuple[Expectation, ...]:
    """Return the expectations in the text of a schedule, in order.

    Raises:
        UsageError: One of them cannot be read; with its place.
    """
    if "expect" not in schedule.text:
        return ()
    found = []
    for token, match in matching_comments(schedule.text, _EXPECT):
        at = Span(schedule.source, token.line, token.column + match.start(1))
        found.append(_Reader(match[1].rstrip(), at, schedule).read())
    return tuple(found)


def with_knob_values(
    loops: tuple[LoopPattern, ...], values: Mapping[str, KnobValue]
) -> tuple[LoopPattern, ...]:
    """Return loops with the names of knobs replaced by their values."""

    def value(size: Size) -> Size:
        known = values.get(size) if isinstance(size, str) else size
        return known if isinstance(known, int) else size if known is None else str(known)

    return tuple(
        dataclasses.replace(p, sizes=None if p.sizes is None else tuple(map(value, p.sizes))) for p in loops
    )


class _Reader:
    """Reads one expectation from left to right; an error points to what does not fit."""

    def __init__(self, text: str, at: Span, schedule: Schedule) -> None:
        self._text, self._at, self._schedule = text, at, schedule
        self._position = 0

    def read(self) -> Expectation:
        form: Any = self._take(r"[a-z]+", "loops, vectorized, inside or none")
        loops: tuple[LoopPattern, ...] = ()
        subjects: tuple[str, ...] = ()
        if form == "loops":
            self._take(r"\(", "(")
            subjects = (self._subject(),)
            self._take(r"\)", ")")
            self._take("==", "==")
            loops = self._loops()
        elif form == "vectorized":
            subjects = (self._subject(),)
        elif form == "inside":
            self._take(r"\(", "(")
            subjects = (self._subject(),)
            self._take(",", ",")
            subjects = (*subjects, self._subject())
            self._take(r"\)", ")")
        elif form == "none":
            subjects = (self._take(r"[A-Za-z_]\w*(?:\.[\w$]+)+", "the full name of an op (linalg.generic)"),)
        else:
            self._position = 0
            raise self._error("loops, vectorized, inside or none")
        if self._rest():
            raise self._error("the end of the line")
        return Expectation(form, subjects, self._text, self._at, loops)

    def _loops(self) -> tuple[LoopPattern, ...]:
        self._take(r"\[", "[")
        loops: list[LoopPattern] = []
        while not self._rest().startswith("]"):
            if loops:
                self._take(",", ", or ]")
            loops.append(self._loop())
        self._take(r"\]", "]")
        return tuple(loops)

    def _loop(self) -> LoopPattern:
        kind = self._take(rf"(?:{'|'.join(sorted(_LOOPS, reverse=True))})\b", f"a loop: {', '.join(_LOOPS)}")
        if self._rest()[:1] in (",", "]", ""):
            return LoopPattern(kind)
        written = self._take(rf"(?:[\w?]+?(?:{_TIMES}))*[\w?]+", "the steps of the loop, such as 16x32")
        sizes = re.split(_TIMES, written)
        knobs = [knob.name for knob in self._schedule.knobs]
        for size in sizes:
            if not (size.isdecimal() or size == "?" or size in knobs):
                self._position -= len(written) - written.index(size)
                also = f", or a knob ({', '.join(knobs)})" if knobs else ""
                raise self._error(f"a step: a number, ? for any{also}")
        return LoopPattern(kind, tuple(int(s) if s.isdecimal() else None if s == "?" else s for s in sizes))

    def _subject(self) -> str:
        what = "a handle (%x) or the full name of an op (linalg.matmul)"
        return self._take(r"%[\w$.-]+(?:#\d+)?|[A-Za-z_]\w*(?:\.[\w$]+)+", what)

    def _rest(self) -> str:
        self._position += len(self._text[self._position :]) - len(self._text[self._position :].lstrip())
        return self._text[self._position :]

    def _take(self, pattern: str, what: str) -> str:
        match = re.match(pattern, self._rest())
        if match is None:
            raise self._error(what)
        self._position += match.end()
        return match[0]

    def _error(self, what: str) -> UsageError:
        rest = self._rest()
        got = re.match(r"[\w%$.?-]+|.", rest)
        found = repr(got[0]) if got else "the end of the line"
        at = dataclasses.replace(self._at, column=self._at.column + self._position)
        message = f"this expectation cannot be read: {what} is expected here, and {found} is written"
        return usage_error(message, _FORMS, at=at, text=self._schedule.text)


def unknown_names(schedule: Schedule) -> list[tuple[Span, str]]:
    """Return the handles that expectations name and that nothing in the schedule defines, with what to say."""
    found = []
    known = names_in(schedule.text)
    for expectation in expectations_of(schedule):
        for subject in expectation.subjects:
            name = subject.partition("#")[0]
            if subject.startswith("%") and not _is_defined(name, schedule.text):
                near = difflib.get_close_matches(name, known - {name}, 2)
                meant = f"; did you mean {' or '.join(near)}?" if near else ""
                found.append((expectation.at, f"the expectation names {name}, which nothing defines{meant}"))
    return found


def _is_defined(name: str, text: str) -> bool:
    """Return whether a name is a result or an argument of a block somewhere in a text."""
    bare = re.sub(r"//[^\n]*", "", text)
    return re.search(rf"{re.escape(name)}(?::\d+)?\s*(?:=|,[^=\n]*=(?!=)|:)", bare) is not None
