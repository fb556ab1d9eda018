"""The signs of a handle timeline, and the legend that says what they are."""

from __future__ import annotations

from lhkit.draw.svg import element, escaped, text_width
from lhkit.draw.theme import MONO
from lhkit.model.trace_record import HandleState
from lhkit.traces.timeline.lifelines import EventKind
from lhkit.traces.timeline.timeline_layout import MARGIN, SMALL

_WORDS: tuple[tuple[EventKind, str], ...] = (
    ("made", "made"),
    ("read", "read"),
    ("consumed", "consumed"),
    ("dead", "dies"),
)
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
    """Return a mark; its rim parts it from what it lies on, or has the colour of death for a use after it."""
    if kind == "made":
        r = 6.5 * scale
        d = f"M{x - r:.1f} {y:.1f}L{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}Z"
        return element("path", d=d, fill="made", stroke="paper", stroke_width=1.2)
    if kind == "read":
        return element(
            "circle",
            cx=x,
            cy=y,
            r=4.6 * scale,
            fill="paper",
            stroke="dead" if is_late else "read",
            stroke_width=2,
        )
    if kind == "consumed":
        return element(
            "circle",
            cx=x,
            cy=y,
            r=5.6 * scale,
            fill="consumed",
            stroke="dead" if is_late else "ink",
            stroke_width=2 if is_late else 1,
        )
    r = 4.6 * scale
    d = f"M{x - r:.1f} {y - r:.1f}L{x + r:.1f} {y + r:.1f}M{x - r:.1f} {y + r:.1f}L{x + r:.1f} {y - r:.1f}"
    rim = element("path", d=d, fill="none", stroke="paper", stroke_width=5.5, stroke_linecap="round")
    return rim + element("path", d=d, fill="none", stroke="dead", stroke_width=2.6, stroke_linecap="round")


def legend_part(width: float, y: float) -> tuple[str, float]:
    """Return the legend, in lines that fit a width from y on, and where it ends."""
    signs = [(14.0, mark_shape(kind, 7, 0), word) for kind, word in _WORDS]
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
