"""A timeline as SVG and HTML: pixel positions, shapes and legend."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from lhkit.draw.svg import element, escaped, fitted, marks, svg, text_width
from lhkit.draw.theme import MONO, static_text, theme_style
from lhkit.model.trace_record import STATE_WORDS, HandleState
from lhkit.traces.timeline.lifelines import EventKind
from lhkit.traces.timeline.timeline_records import Arc, Bar, Column, Row, StepMark, TimelineDrawing

SECTION, BRACKET = 24.0, 16.0
_ROW = 24.0
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
    """The positions of a drawing."""

    def __init__(self, drawing: TimelineDrawing) -> None:
        self._drawing = drawing
        self.row_height = _ROW
        self.names = tuple(fitted(row.name, _LONGEST_NAME, TEXT) for row in drawing.rows)
        self.left = MARGIN + max((text_width(n, TEXT) for n in self.names), default=0.0) + 12
        self.edges = [self.left]
        for column in drawing.columns:
            self.edges.append(self.edges[-1] + _WIDTHS[column.kind])
        self.heads = tuple(_head(column) for column in drawing.columns)
        longest = max((h.width for h in self.heads), default=0.0)
        self.numbers = MARGIN + longest * SIN + 24
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


_WORDS: dict[EventKind, str] = {
    "made": "made",
    "read": "read",
    "consumed": "consumed",
    "dead": "invalidated here",
}
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
    """Return a mark; its rim separates it from its background. A use after death is struck through."""
    if is_late:
        d = f"M{x - 6.5 * scale:.1f} {y + 6.5 * scale:.1f}L{x + 6.5 * scale:.1f} {y - 6.5 * scale:.1f}"
        strike = element("path", d=d, fill="none", stroke="dead", stroke_width=2.2)
        return mark_shape(kind, x, y, scale) + strike
    if kind == "made":
        r = 6.5 * scale
        d = f"M{x - r:.1f} {y:.1f}L{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}Z"
        return element("path", d=d, fill="made", stroke="paper", stroke_width=1.2)
    if kind == "read":
        return element("circle", cx=x, cy=y, r=4.6 * scale, fill="paper", stroke="read", stroke_width=2)
    if kind == "consumed":
        return element("circle", cx=x, cy=y, r=5.6 * scale, fill="consumed", stroke="ink", stroke_width=1)
    r = 4.6 * scale
    d = f"M{x - r:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}M{x - r:.1f} {y + r:.1f}L{x + r:.1f} {y - r:.1f}"
    halo = element("path", d=d, fill="none", stroke="paper", stroke_width=5.5, stroke_linecap="round")
    return halo + element("path", d=d, fill="none", stroke="dead", stroke_width=2.6, stroke_linecap="round")


def legend_part(drawing: TimelineDrawing, width: float, y: float) -> tuple[str, float]:
    """Return the legend of what is drawn, wrapped to a width, and its lower edge."""
    found = [m for row in drawing.rows for m in row.marks]
    states = {bar.state for row in drawing.rows for bar in row.bars}
    kinds = {m.kind for m in found if not m.is_late}
    signs = [(14.0, mark_shape(kind, 7, 0), word) for kind, word in _WORDS.items() if kind in kinds]
    late = next((m.kind for m in found if m.is_late), None)
    if late is not None:
        signs.append((14.0, mark_shape(late, 7, 0, is_late=True), "used when invalidated"))
    signs += [(30.0, bar_shape(state, 0, 30, 0), STATE_WORDS[state]) for state in _STATES if state in states]
    arc = element("path", d="M4 -6Q15 -6 15 0T26 6", fill="none", stroke="dead", stroke_width=1.6)
    signs += [(30.0, arc, "with what is consumed")] if drawing.arcs else []
    drawn, x = [], MARGIN
    for wide, sign, word in signs:
        text = element("text", escaped(word), x=wide + 6, y=4, font_size=SMALL, fill="faint")
        needed = wide + 6 + text_width(word, SMALL)
        if x + needed > width - MARGIN:
            x, y = MARGIN, y + 20
        drawn.append(element("g", sign, text, transform=f"translate({x:.1f} {y:.1f})"))
        x += needed + 18
    return element("g", *drawn, font_family=MONO), y + 8


def timeline_svg(drawing: TimelineDrawing, *, themed: bool = True) -> str:
    """Return a timeline as SVG; if not ``themed``, in the light colours that `svg_png` needs."""
    at = TimelineLayout(drawing)
    width = max(at.width, 460.0)
    below, bottom = _below(drawing, width, at.bottom + 8)
    body = (_names_part(drawing, at), _tracks_part(drawing, at), _mono(below))
    return svg(width, bottom + MARGIN, *body, label=drawing.title, themed=themed)


def _names_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    drawn = [_name(row, i, at) for i, row in enumerate(drawing.rows)]
    if at.first_parameter is not None:
        y = at.row(at.first_parameter) - at.row_height / 2 - SECTION / 2 + 8
        drawn.append(_text(MARGIN, y, "parameters", SMALL, fill="faint"))
    return _mono(drawn)


def _tracks_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    return _heads_part(drawing, at) + _rows_part(drawing, at)


def _rows_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    drawn = [_bands_part(drawing, at)]
    drawn += [_row(row, i, at) for i, row in enumerate(drawing.rows)]
    drawn += [_arc(arc, drawing, at) for arc in drawing.arcs]
    drawn += [_marks(row, i, at) for i, row in enumerate(drawing.rows)]
    return _mono(drawn)


def _mono(drawn: list[str]) -> str:
    return element("g", *drawn, font_family=MONO)


def _text(x: float, y: float, text: str, size: float = TEXT, **more: object) -> str:
    look = {"font_size": size, "fill": "ink", **more}
    return element("text", escaped(text), x=x, y=y, **look)


def _title(text: str) -> str:
    return element("title", escaped(text))


def _name(row: Row, index: int, at: TimelineLayout) -> str:
    tone = "faint" if row.is_folded else "ink"
    found = marks(handles=row.handles, label=f"{row.title}; {row.note}")
    look = {"fill": tone, "text_anchor": "end", **found}
    text = _text(at.left - 12, at.row(index) + 4, at.names[index], TEXT, **look)
    return element("g", _title(row.title), text, class_="lh-name")


def _row(row: Row, index: int, at: TimelineLayout) -> str:
    y, note = at.row(index), at.notes[index]
    hole = (note.x - 5, note.end + 4) if note.text else (at.width, at.width)
    drawn = [
        element("line", x1=begin, x2=end, y1=y, y2=y, stroke="line")
        for begin, end in _around(at.left, at.edges[-1], hole)
    ]
    for bar in row.bars:
        drawn += _bar(row, bar, y, at, hole)
    if note.text:
        tone = "dead" if row.state == "invalid" and not row.is_folded else "faint"
        look = {"fill": tone, "class_": "lh-note", "data_handle": " ".join(row.handles)}
        drawn.append(_text(note.x, y + 4, note.text, SMALL, **look))
    return "".join(drawn)


def _around(left: float, right: float, hole: tuple[float, float]) -> list[tuple[float, float]]:
    pieces = (left, min(right, hole[0])), (max(left, hole[1]), right)
    return [(begin, end) for begin, end in pieces if end - begin >= 1]


_SHORTEST_PIECE = 12


def _bar(row: Row, bar: Bar, y: float, at: TimelineLayout, hole: tuple[float, float]) -> list[str]:
    left, right = at.ends(row, bar)
    # The cause of death is written into the bar of the invalid state.
    pieces = [(left, right)]
    if bar.state == "invalid":  # a stub behind the words would look like letters of them
        pieces = [(begin, end) for begin, end in _around(left, right, hole) if end - begin >= _SHORTEST_PIECE]
    found = marks(handles=row.handles)
    return [bar_shape(bar.state, begin, end, y, _title(bar.title), **found) for begin, end in pieces]


def _arc(arc: Arc, drawing: TimelineDrawing, at: TimelineLayout) -> str:
    start, small = at.mark(drawing.rows[arc.from_row], arc.column, "consumed")
    y, trunk = at.row(arc.from_row), at.middle(arc.column)
    paths = []
    for index in arc.to_rows:
        to, end = at.mark(drawing.rows[index], arc.column, "dead")[0], at.row(index)
        bend = 7 if end > y else -7
        paths.append(
            f"M{start + (3 if small else 5):.1f} {y:.1f}Q{trunk:.1f} {y:.1f} {trunk:.1f} {y + bend:.1f}"
            f"V{end - bend:.1f}Q{trunk:.1f} {end:.1f} {to - 2:.1f} {end:.1f}"
        )
    rows = [drawing.rows[i] for i in (arc.from_row, *arc.to_rows)]
    found = marks(step=arc.step, handles=[h for row in rows if not row.is_folded for h in row.handles])
    look = {"fill": "none", "stroke": "dead", "stroke_width": 1.6, "class_": "lh-arc"}
    return element("path", _title(arc.title), d="".join(paths), **look, **found)


def _marks(row: Row, index: int, at: TimelineLayout) -> str:
    drawn = []
    for mark in row.marks:
        x, is_small = at.mark(row, mark.column, mark.kind)
        shape = mark_shape(mark.kind, x, at.row(index), 0.68 if is_small else 1.0, is_late=mark.is_late)
        label = mark.title if mark.kind == "dead" else ""
        found = marks(step=mark.step if mark.step >= 0 else None, handles=row.handles, label=label)
        drawn.append(element("g", _title(mark.title), shape, class_=f"lh-mark lh-{mark.kind}", **found))
    return "".join(drawn)


def _below(drawing: TimelineDrawing, width: float, y: float) -> tuple[list[str], float]:
    """Return the part below the rows, and its lower edge: hidden handles, verdict, legend."""
    drawn = []
    room = max(int((width - 2 * MARGIN) / text_width("x", TEXT)), 20)
    for i, line in enumerate(textwrap.wrap(drawing.verdict, room)):
        y += 18
        tone = "ink" if i or drawing.verdict.startswith("ok") else "dead"
        head, colon, rest = line.partition(":") if i == 0 else ("", "", line)
        parts = element("tspan", escaped(head + colon), fill=tone, font_weight="bold"), escaped(rest)
        drawn.append(element("text", *parts, x=MARGIN, y=y, font_size=TEXT, fill="ink"))
    if drawing.elsewhere:
        y += 18
        drawn.append(_text(MARGIN, y, _hidden_handles_text(drawing), SMALL, fill="faint"))
    legend, y = legend_part(drawing, width, y + 24)
    return [*drawn, legend], y


def _hidden_handles_text(drawing: TimelineDrawing) -> str:
    return f"⋯ {drawing.elsewhere} more handles without events in these columns"


_BANDS: dict[StepMark, str] = {
    "failed": "erased-paper",
    "crashed": "erased-paper",
    "suppressed": "changed-paper",
}
_TONES: dict[StepMark, str] = {"": "ink", "warning": "ink", "not-run": "faint"}
_SMALLER = 9.5


def _heads_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    drawn = [_bracket(i, drawing, at) for i in range(len(drawing.groups))]
    drawn += [_named(i, column, at) for i, column in enumerate(drawing.columns)]
    return element("g", *drawn, font_family=MONO)


def _bands_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    drawn = []
    for group in drawing.groups:
        left, right = at.edges[group.first] + 2, at.edges[group.last + 1] - 2
        y = at.numbers + 7 + BRACKET * group.depth
        size = {"x": left, "y": y, "width": right - left, "height": at.bottom - y}
        drawn.append(element("rect", **size, fill="faint", fill_opacity=0.07, data_step=group.step))
    for index, column in enumerate(drawing.columns):
        left, right = at.edges[index], at.edges[index + 1]
        size = {"x": left, "y": at.tracks, "width": right - left, "height": at.bottom - at.tracks}
        if column.mark in _BANDS or column.kind == "fold":
            drawn.append(element("rect", **size, fill=_BANDS.get(column.mark, "panel")))
        if column.kind == "step":
            # Seen when the step is selected.
            drawn.append(element("rect", **size, fill="none", pointer_events="none", data_step=column.step))
    return "".join(drawn)


def _named(index: int, column: Column, at: TimelineLayout) -> str:
    head, tone, x = at.heads[index], _tone(column), at.middle(index)
    note = ""
    if head.note:
        weight = "normal" if column.mark == "not-run" else "bold"
        note = element("tspan", escaped(head.note), dx=6, fill=_note_tone(column.mark), font_weight=weight)
    slanted = f"translate({x:.1f} {at.numbers - 15:.1f}) rotate(-{SLANT_DEGREES})"
    look: dict[str, object] = {"font_size": SMALL, "fill": tone}
    found = marks(step=column.step, label=column.title if column.kind == "step" else "")
    words = [
        element("title", escaped(column.title)),
        element("text", escaped(head.name), note, transform=slanted, **look, **found),
    ]
    number = "⋯" if column.kind in ("fold", "elided") else str(column.step) if column.kind == "step" else ""
    if number:
        place = {"x": x, "y": at.numbers, "text_anchor": "middle", "font_weight": "bold"}
        words.append(element("text", escaped(number), **place, **look, data_step=column.step))
    return element("g", *words, class_="lh-step")


def _tone(column: Column) -> str:
    return _TONES.get(column.mark, "dead") if column.kind == "step" else "faint"


def _note_tone(mark: StepMark) -> str:
    return {"not-run": "faint", "warning": "ink"}.get(mark, "dead")


def _bracket(index: int, drawing: TimelineDrawing, at: TimelineLayout) -> str:
    group = drawing.groups[index]
    left, right = at.edges[group.first] + 2, at.edges[group.last + 1] - 2
    y = at.numbers + 7 + BRACKET * group.depth
    tick = f"M{left:.1f} {y + 6:.1f}V{y:.1f}H{right:.1f}v6"
    drawn = element("path", d=tick, fill="none", stroke="faint", stroke_width=1.5, data_step=group.step)
    if fitted(group.name, right - left - 10, _SMALLER) == group.name:
        drawn += element("text", escaped(group.name), x=left + 5, y=y + 11, font_size=_SMALLER, fill="faint")
    return drawn


_LEGEND_WIDTH = 680.0


def timeline_style() -> str:
    """Return the style sheet of `timeline_html`, once per page; it needs that of the theme."""
    return static_text("timeline.css", "traces").strip()


def timeline_html(drawing: TimelineDrawing, *, styled: bool = True) -> str:
    """Return a timeline as an HTML fragment; folds are ``<details>``, drawn in full.

    A check box folds all nested steps, without a script. If ``styled``, style sheets are included.
    """
    legend, bottom = legend_part(drawing, _LEGEND_WIDTH, 12)
    head, colon, rest = drawing.verdict.partition(":")
    tone = "" if drawing.verdict.startswith("ok") else "lh-failed"
    verdict = element("p", element("b", escaped(head + colon), class_=tone), escaped(rest))
    views = [_view(drawing)]
    if drawing.overview is not None:
        box = element("input", type="checkbox", class_="lh-fold-box")
        views = [
            element("label", box, " fold nested steps", class_="lh-faint"),
            element("div", _view(drawing), class_="lh-unfolded"),
            element("div", _view(drawing.overview), class_="lh-folded"),
        ]
    return element(
        "div",
        element("style", theme_style() + timeline_style()) if styled else "",
        verdict,
        svg(_LEGEND_WIDTH, bottom + 4, legend, label="legend", themed=False),
        *views,
        class_="lh lh-timeline",
    )


def _view(drawing: TimelineDrawing) -> str:
    parts = [_sheet(drawing)]
    for fold in drawing.folds:
        sheets = (_sheet(sheet) for sheet in fold.sheets)
        parts.append(element("details", element("summary", escaped(fold.label)), *sheets))
    return "".join(parts)


def _sheet(drawing: TimelineDrawing) -> str:
    at = TimelineLayout(drawing)
    names = element("div", _cut(_names_part(drawing, at), 0, at, f"{drawing.title}: names"), class_="lh-names")
    tracks = _cut(_tracks_part(drawing, at), at.left, at, drawing.title)
    more = element("p", escaped(_hidden_handles_text(drawing)), class_="lh-faint") if drawing.elsewhere else ""
    return element("div", names, tracks, class_="lh-sheet") + more


def _cut(part: str, left: float, at: TimelineLayout, label: str) -> str:
    """Return a drawing of a part: up to the names' right edge from 0, else to the end."""
    width = at.width - left if left else at.left
    moved = element("g", part, transform=f"translate({-left:.2f} 0)") if left else part
    return svg(width, at.bottom + 6, moved, label=label, themed=False)
