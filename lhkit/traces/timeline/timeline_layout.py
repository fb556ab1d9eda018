"""Pixel positions of columns, rows, marks and notes; shapes and legend."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.draw.svg import element, escaped, fitted, text_width
from lhkit.draw.theme import MONO
from lhkit.model.trace_record import HandleState
from lhkit.traces.timeline.lifelines import EventKind
from lhkit.traces.timeline.timeline_records import Bar, Column, Row, TimelineDrawing

SECTION, BRACKET = 24.0, 16.0
_ROW, _COMPACT_ROW = 24.0, 20.0
MARGIN = 10.0
TEXT = 12.0
SMALL = 11.0
# Sine and cosine of the angle of the columns' names.
SLANT_DEGREES, SIN, COS = 50, 0.766, 0.643
_WIDTHS = {"step": 34.0, "fold": 44.0, "elided": 44.0, "start": 26.0, "turn": 26.0, "end": 34.0}
_LONGEST_NAME, _LONGEST_HEAD, _LONGEST_NOTE = 230.0, 220.0, 240.0
# Position of a mark in a cell, as a share of its width: uses left, effects right.
_PLACES: dict[EventKind, float] = {"read": 0.26, "consumed": 0.26, "made": 0.74, "dead": 0.74}
_CROWDED: dict[EventKind, float] = {"read": 0.13, "consumed": 0.37, "made": 0.63, "dead": 0.87}
_BESIDE = {"read": "consumed", "consumed": "read", "made": "dead", "dead": "made"}


@dataclass(frozen=True, slots=True)
class Head:
    """The slanted name of a column with its problem, and their length."""

    name: str
    note: str
    width: float


@dataclass(frozen=True, slots=True)
class Note:
    """The note at the end of a row, with its left and right edge."""

    x: float
    text: str
    end: float


class TimelineLayout:
    """The positions of a drawing; a compact one has no column names and lower rows."""

    def __init__(self, drawing: TimelineDrawing, *, is_compact: bool = False) -> None:
        self._drawing = drawing
        self.is_compact = is_compact
        self.row_height = _COMPACT_ROW if is_compact else _ROW
        self.names = tuple(fitted(row.name, _LONGEST_NAME, TEXT) for row in drawing.rows)
        self.left = MARGIN + max((text_width(n, TEXT) for n in self.names), default=0.0) + 12
        self.edges = [self.left]
        for column in drawing.columns:
            self.edges.append(self.edges[-1] + _WIDTHS[column.kind])
        self.heads = () if is_compact else tuple(_head(column) for column in drawing.columns)
        longest = max((h.width for h in self.heads), default=0.0)
        self.numbers = 15.0 if is_compact else MARGIN + longest * SIN + 24
        self.tracks = self.numbers + 8 + BRACKET * max((g.depth + 1 for g in drawing.groups), default=0)
        self.first_parameter = next((i for i, r in enumerate(drawing.rows) if r.kind == "param"), None)
        section = 0 if self.first_parameter is None else SECTION
        self.bottom = self.tracks + self.row_height * len(drawing.rows) + section
        self._crossed = self._crossings()
        self.notes = tuple(self._note(i, row) for i, row in enumerate(drawing.rows))
        reach = [self.middle(i) + head.width * COS for i, head in enumerate(self.heads)]
        self.width = max([self.edges[-1], *reach, *(n.end for n in self.notes)]) + MARGIN

    def row(self, index: int) -> float:
        """Return the middle of a row."""
        is_below = self.first_parameter is not None and index >= self.first_parameter
        return self.tracks + self.row_height * (index + 0.5) + (SECTION if is_below else 0)

    def middle(self, column: int) -> float:
        """Return the middle of a column."""
        return (self.edges[column] + self.edges[column + 1]) / 2

    def mark(self, row: Row, column: int, kind: EventKind) -> tuple[float, bool]:
        """Return the position of a mark, and whether it has to be small."""
        is_crowded = any(m.column == column and m.kind == _BESIDE[kind] for m in row.marks)
        share = (_CROWDED if is_crowded else _PLACES)[kind]
        return self.edges[column] + share * (self.edges[column + 1] - self.edges[column]), is_crowded

    def ends(self, row: Row, bar: Bar) -> tuple[float, float]:
        """Return the ends of a bar."""
        start: EventKind = "dead" if bar.state == "invalid" else "made"
        first = self.left if bar.first < 0 else self.mark(row, bar.first, start)[0]
        last = self.edges[bar.last + 1] if bar.runs_on else self.mark(row, bar.last, "dead")[0]
        return first, max(first, last)

    def _crossings(self) -> list[set[int]]:
        crossed = [{m.column for m in row.marks} for row in self._drawing.rows]
        for arc in self._drawing.arcs:
            for index in range(min(arc.from_row, arc.to_rows[0]), max(arc.from_row, arc.to_rows[-1]) + 1):
                crossed[index].add(arc.column)
        return crossed

    def _note(self, index: int, row: Row) -> Note:
        """Place the note of a row behind its last bar, where nothing is in the way."""
        text = fitted(row.note, _LONGEST_NOTE, SMALL)
        deaths = [m.column for m in row.marks if m.kind == "dead"]
        ends = [bar.last for bar in row.bars if bar.state != "invalid"]
        start = max(deaths) if row.state == "invalid" and deaths else max(ends, default=-1)
        if row.is_folded:
            start = len(self._drawing.columns) - 1
        at = start + 1
        while at < len(self._drawing.columns):
            taken = next((c for c in range(at, len(self._drawing.columns)) if c in self._crossed[index]), None)
            room = (self.edges[taken] if taken is not None else self.edges[-1]) - self.edges[at] - 8
            if taken is None or room >= text_width(text, SMALL):
                break
            at = taken + 1
        x = self.edges[at] + 4
        return Note(x, text, x + text_width(text, SMALL))


def _head(column: Column) -> Head:
    room = _LONGEST_HEAD - (text_width(column.note, SMALL) if column.note else 0)
    name, note = fitted(column.name, max(room, 60.0), SMALL), fitted(column.note, _LONGEST_HEAD - 60, SMALL)
    return Head(name, note, text_width(f"{name} {note}".rstrip(), SMALL))


_WORDS: dict[EventKind, str] = {"made": "made", "read": "read", "consumed": "consumed", "dead": "dies"}
_STATES: tuple[HandleState, ...] = ("live", "empty", "invalid")
_THICK = 7.0


def bar_shape(state: HandleState, begin: float, end: float, y: float, *inside: str, **found: object) -> str:
    """Return a bar: live is full, empty is hollow, invalid is hatched."""
    if state == "invalid":
        hatch = {"stroke": "invalid", "stroke_width": _THICK, "stroke_dasharray": "1.5 3.5"}
        return element("line", *inside, x1=begin, x2=end, y1=y, y2=y, **hatch, **found)
    look: dict[str, object] = {"fill": "live"}
    if state == "empty":
        look = {"fill": "paper", "stroke": "empty", "stroke_width": 1.5}
    size = {"x": begin, "y": y - _THICK / 2, "width": end - begin, "height": _THICK, "rx": 2}
    return element("rect", *inside, **size, **look, **found)


def mark_shape(kind: EventKind, x: float, y: float, scale: float = 1.0, *, is_late: bool = False) -> str:
    """Return a mark; its rim separates it from its background, or is red for a use after death."""
    if kind == "made":
        r = 6.5 * scale
        d = f"M{x - r:.1f} {y:.1f}L{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}Z"
        return element("path", d=d, fill="made", stroke="paper", stroke_width=1.2)
    if kind == "read":
        rim = {"stroke": "dead" if is_late else "read", "stroke_width": 2}
        return element("circle", cx=x, cy=y, r=4.6 * scale, fill="paper", **rim)
    if kind == "consumed":
        rim = {"stroke": "dead" if is_late else "ink", "stroke_width": 2 if is_late else 1}
        return element("circle", cx=x, cy=y, r=5.6 * scale, fill="consumed", **rim)
    r = 4.6 * scale
    d = f"M{x - r:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}M{x - r:.1f} {y + r:.1f}L{x + r:.1f} {y - r:.1f}"
    halo = element("path", d=d, fill="none", stroke="paper", stroke_width=5.5, stroke_linecap="round")
    return halo + element("path", d=d, fill="none", stroke="dead", stroke_width=2.6, stroke_linecap="round")


def legend_part(width: float, y: float) -> tuple[str, float]:
    """Return the legend, wrapped to a width, and its lower edge."""
    signs = [(14.0, mark_shape(kind, 7, 0), word) for kind, word in _WORDS.items()]
    signs += [(30.0, bar_shape(state, 0, 30, 0), state) for state in _STATES]
    arc = element("path", d="M4 -6Q15 -6 15 0T26 6", fill="none", stroke="dead", stroke_width=1.6)
    signs.append((30.0, arc, "dies with what is consumed"))
    drawn, x = [], MARGIN
    for wide, sign, word in signs:
        text = element("text", escaped(word), x=wide + 6, y=4, font_size=SMALL, fill="faint")
        needed = wide + 6 + text_width(word, SMALL)
        if x + needed > width - MARGIN:
            x, y = MARGIN, y + 20
        drawn.append(element("g", sign, text, transform=f"translate({x:.1f} {y:.1f})"))
        x += needed + 18
    return element("g", *drawn, font_family=MONO), y + 8
