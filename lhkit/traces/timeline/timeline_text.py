"""A timeline as text, four characters per column."""

from __future__ import annotations

from lhkit.model.trace_record import HandleState
from lhkit.traces.timeline.lifelines import EventKind
from lhkit.traces.timeline.timeline_records import Bar, Column, Row, TimelineDrawing

MARKS: dict[EventKind, str] = {"made": "◆", "read": "○", "consumed": "●", "dead": "✕"}
BARS: dict[HandleState, str] = {"live": "━", "empty": "╌", "invalid": "░"}
_LEGEND = "◆ made  ○ read  ● consumed  ✕ dies   ━ live  ╌ empty  ░ invalid   ] end of a step with others inside"
# Column of a mark within the four characters of a cell: uses before effects.
_PLACES: dict[EventKind, int] = {"read": 0, "consumed": 1, "made": 2, "dead": 3}
_CELL = 4
_MOST_COLUMNS = 20
_LONGEST_NAME = 28


def timeline_text(drawing: TimelineDrawing) -> str:
    """Return a timeline as text: panels of columns, each with its live rows and its steps."""
    lines = [drawing.title]
    for first in range(0, len(drawing.columns), _MOST_COLUMNS):
        lines += ["", *_panel(drawing, first, min(first + _MOST_COLUMNS, len(drawing.columns)))]
    return "\n".join(line.rstrip() for line in [*lines, "", drawing.verdict, _LEGEND]) + "\n"


def _panel(drawing: TimelineDrawing, first: int, end: int) -> list[str]:
    rows = [row for row in drawing.rows if _is_alive(row, first, end)]
    width = max([len(_cut(row.name)) for row in rows] + [4])
    columns = drawing.columns[first:end]
    lines = [" " * width + " " + "".join(_sign(c).rjust(_CELL) for c in columns)]
    is_apart = False
    for row in rows:
        if row.kind == "param" and not is_apart:
            lines.append("parameters")
            is_apart = True
        track = "".join(_track(row, len(drawing.columns))[first * _CELL : end * _CELL])
        lines.append(f"{_cut(row.name).rjust(width)} {track}  {row.note}")
    return [*lines, "", *(f"{_sign(c):>4} {'  ' * c.depth}{c.name}  {c.note}" for c in columns)]


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _is_alive(row: Row, first: int, end: int) -> bool:
    has_mark = any(first <= m.column < end for m in row.marks)
    return has_mark or any(b.first < end and b.last >= first for b in row.bars) or not (row.bars or row.marks)


def _sign(column: Column) -> str:
    if column.kind == "step":
        return str(column.step)
    if column.kind == "turn":
        return f"#{column.name.rpartition(' ')[2]}"
    return {"start": "·", "end": "]"}.get(column.kind, "⋯")


def _track(row: Row, columns: int) -> list[str]:
    cells = [" "] * (columns * _CELL)
    for bar in row.bars:
        begin, end = _reach(bar)
        cells[begin:end] = BARS[bar.state] * (end - begin)
    for mark in row.marks:
        cells[mark.column * _CELL + _PLACES[mark.kind]] = MARKS[mark.kind]
    return cells


def _reach(bar: Bar) -> tuple[int, int]:
    begin = 0 if bar.first < 0 else bar.first * _CELL + (2 if bar.state != "invalid" else 3)
    end = (bar.last + 1) * _CELL if bar.runs_on else bar.last * _CELL + 3
    return begin, max(begin, end)
