"""The columns of a handle timeline: their heads above, with brackets, and the bands behind the rows."""

from __future__ import annotations

from lhkit.draw.svg import element, escaped, fitted, marks
from lhkit.draw.theme import MONO
from lhkit.traces.timeline.timeline_layout import BRACKET, SLANT_DEGREES, SMALL, TimelineLayout
from lhkit.traces.timeline.timeline_records import Column, StepMark, TimelineDrawing

_BANDS: dict[StepMark, str] = {
    "failed": "erased-paper",
    "crashed": "erased-paper",
    "suppressed": "changed-paper",
}
_TONES: dict[StepMark, str] = {"": "ink", "warning": "ink", "not-run": "faint"}
# What stands for a column that is no step, where it has no name.
_SIGNS = {"start": "▹", "turn": "↻", "end": "◃", "fold": "⋯", "elided": "⋯"}
_SMALLER = 9.5


def heads_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    """Return names and numbers of the columns, and the brackets below them; in a compact one only numbers."""
    head = _number if at.is_compact else _named
    drawn = [_bracket(i, drawing, at) for i in range(len(drawing.groups))]
    drawn += [head(i, column, at) for i, column in enumerate(drawing.columns)]
    return element("g", *drawn, font_family=MONO)


def bands_part(drawing: TimelineDrawing, at: TimelineLayout) -> str:
    """Return what lies behind the rows: the inside of steps, steps that went wrong, the one that is shown."""
    drawn = []
    for group in drawing.groups:
        left, right = at.edges[group.first] + 2, at.edges[group.last + 1] - 2
        y = at.tracks if at.is_compact else at.numbers + 7 + BRACKET * group.depth
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


def _number(index: int, column: Column, at: TimelineLayout) -> str:
    left, right = at.edges[index], at.edges[index + 1]
    is_step = column.kind == "step"
    sign = str(column.step) if is_step else _SIGNS[column.kind]
    look = {"font_size": SMALL, "fill": _tone(column), "text_anchor": "middle"}
    text = element("text", escaped(sign), x=at.middle(index), y=at.numbers, font_weight="bold", **look)
    # All of the cell can be pointed at; what is wrong with the step is seen without pointing.
    cell = {"x": left, "y": 0, "width": right - left, "height": at.tracks, "pointer_events": "all"}
    ground = element("rect", fill=_BANDS.get(column.mark, "none"), **cell)
    warning = ""
    if column.mark == "warning":
        place = {"x": right - 8, "y": at.numbers, "font_size": SMALL, "font_weight": "bold"}
        warning = element("text", "!", fill=_note_tone(column.mark), **place)
    found = marks(step=column.step, label=column.title if is_step else "")
    return element(
        "g", element("title", escaped(column.title)), ground, text, warning, class_="lh-step", **found
    )


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
