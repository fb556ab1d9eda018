"""Speeds against rivals as bars on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.suite import SuiteFamily, SuiteResult, SuiteRow, shape_text
from benchmarks.suite_results import family_means, rival_ratios
from benchmarks.suite_tables import DISTURBED
from lhkit.draw.entry_looks import EntryLook, entry_looks
from lhkit.draw.svg import element, escaped, fitted, svg
from lhkit.draw.theme import figure_paint

# Corners of the mark at the end of a bar, around its middle, by matplotlib's letter: not by colour alone.
_MARKS = {
    "o": ((-1, -0.4), (-0.4, -1), (0.4, -1), (1, -0.4), (1, 0.4), (0.4, 1), (-0.4, 1), (-1, 0.4)),
    "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "D": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    "^": ((-1.2, 1), (0, -1.2), (1.2, 1)),
    "v": ((-1.2, -1), (0, 1.2), (1.2, -1)),
    "P": ((-0.5, -1.4), (0.5, -1.4), (0.5, 1.4), (-0.5, 1.4)),
}
# In pixels.
_WIDTH, _LABEL, _RIVAL, _TEXT = 880, 140, 160, 190
_LINE, _HEAD, _GAP, _EDGE = 17, 24, 8, 26
_LEAST, _MOST = 1 / 8, 64.0


@dataclass(frozen=True, slots=True)
class RatioBar:
    """One bar: the speed as a multiple of a rival's, with what is drawn around it.

    Attributes:
        label: What the bar and those below it are about; empty below the first.
        rival: Whose speed it is a multiple of.
        value: The multiple.
        low: Where the whisker begins.
        high: Where it ends.
        text: The label to its right.
    """

    label: str
    rival: str
    value: float
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Bars under one heading; without one where it is empty."""

    title: str
    bars: tuple[RatioBar, ...]

    @property
    def height(self) -> float:
        """How high it is drawn, in pixels."""
        inner = sum(1 for bar in self.bars[1:] if bar.label)
        return (_HEAD if self.title else 0) + _LINE * len(self.bars) + _GAP * (1 + inner)


def row_group(title: str, rows: Sequence[SuiteRow]) -> BarGroup:
    """Return the bars of the shapes of a family, a bar a rival, with 95 % intervals."""
    bars = []
    for row in rows:
        for i, ratio in enumerate(rival_ratios(row)):
            speed = ratio.speed
            text = f"{speed.middle:.3g}×  ({speed.low:.3g} – {speed.high:.3g})"
            label = f"{DISTURBED} {shape_text(row.shape)}" if row.is_disturbed else shape_text(row.shape)
            label = label if i == 0 else ""
            bars.append(RatioBar(label, ratio.rival, speed.middle, speed.low, speed.high, text))
    return BarGroup(title, tuple(bars))


def family_title(family: SuiteFamily, result: SuiteResult) -> str:
    """Return the heading of a family; its title names the large shapes, which a quick run leaves out."""
    return f"{family.title} – quick: small shapes in place of these" if result.is_quick else family.title


def family_groups(result: SuiteResult, families: Sequence[SuiteFamily]) -> tuple[BarGroup, ...]:
    """Return the geometric means of each family, a bar a rival, whiskers from the least to the greatest."""
    groups = []
    for family in families:
        bars = []
        for mean in family_means([row for row in result.rows if row.family == family.name]):
            shapes = (
                "1 shape" if mean.shapes == 1 else f"{mean.shapes} shapes, {mean.low:.3g} – {mean.high:.3g}"
            )
            text = f"{mean.mean:.3g}×  ({shapes})"
            bars.append(RatioBar("", mean.rival, mean.mean, mean.low, mean.high, text))
        if bars:
            groups.append(BarGroup(family_title(family, result), tuple(bars)))
    return tuple(groups)


def rivals_in_order(result: SuiteResult) -> tuple[str, ...]:
    """Return the names of all that kernels are compared with, so that each looks the same in all drawings."""
    found = [ratio.rival for row in result.rows for ratio in rival_ratios(row)]
    known = [rival.name for rival in result.rivals]
    return tuple(sorted(dict.fromkeys(found), key=lambda n: (n in known, known.index(n) if n in known else 0)))


def ratio_svg(groups: Sequence[BarGroup], rivals: Sequence[str], label: str) -> str:
    """Return groups of bars as one drawing."""
    ends = [e for group in groups for bar in group.bars for e in (bar.low, bar.high)]
    low = max(min([0.5, *ends]), _LEAST)
    high = min(max([2.0, *ends]), _MOST)
    indent = _LABEL if any(bar.label for group in groups for bar in group.bars) else 12
    axis = _Axis(indent + _RIVAL, math.floor(math.log2(low)), math.ceil(math.log2(high)))
    height = 2 * _EDGE + sum(group.height for group in groups)
    drawn, looks = [axis.grid(height)], entry_looks(rivals)
    top = float(_EDGE)
    for group in groups:
        if group.title:
            drawn.append(_words(0, top + 15, fitted(group.title, _WIDTH, 12, mono=False), font_weight="bold"))
            top += _HEAD
        for i, bar in enumerate(group.bars):
            top += _GAP if i and bar.label else 0
            drawn.append(_bar(bar, top, indent, axis, looks[bar.rival]))
            top += _LINE
        top += _GAP
    return svg(_WIDTH, height, *drawn, label=label)


# Of the drawing of dots in pixels: a row, the titles at the left, and a name in the key.
_ROW, _TITLES, _KEY = 19, 330, 205


def dots_svg(groups: Sequence[BarGroup], rivals: Sequence[str], label: str) -> str:
    """Return groups as one row each, with a mark per rival at its multiple and a key above."""
    shown = [rival for rival in rivals if any(bar.rival == rival for group in groups for bar in group.bars)]
    looks, across = entry_looks(rivals), max(1, _WIDTH // _KEY)
    values = [bar.value for group in groups for bar in group.bars]
    low, high = max(min([0.5, *values]), _LEAST), min(max([2.0, *values]), _MOST)
    axis = _Axis(_TITLES, math.floor(math.log2(low)), math.ceil(math.log2(high)), margin=40)
    key = -(-len(shown) // across) * _ROW + 8.0
    height = 2 * _EDGE + _ROW * len(groups)
    drawn, body = [], [axis.grid(height)]
    for i, rival in enumerate(shown):
        x, y = 10.0 + i % across * _KEY, 12.0 + i // across * _ROW
        drawn += [_mark(x, y, looks[rival]), _words(x + 12, y + 4, rival, font_size=11)]
    for row, group in enumerate(groups):
        y = _EDGE + _ROW * (row + 0.5)
        body.append(_words(0, y + 4, fitted(group.title, _TITLES - 12, 11, mono=False), font_size=11))
        for bar in group.bars:
            said = element("title", escaped(f"{bar.rival}: {bar.text}"))
            body.append(element("g", said, _mark(axis.at(bar.value), y, looks[bar.rival])))
            body.append(_break(axis, bar.value, y))
    lower = element("g", *body, transform=f"translate(0 {key:g})")
    return svg(_WIDTH, height + key, *drawn, lower, label=label)


def _mark(x: float, y: float, look: EntryLook) -> str:
    points = " ".join(
        f"{x + 3.6 * dx:.2f},{y + 3.6 * dy:.2f}" for dx, dy in _MARKS.get(look.marker, _MARKS["o"])
    )
    paint = figure_paint(look.color)
    if look.is_hollow:
        return element("polygon", points=points, fill="paper", style=f"stroke: {paint}", stroke_width=1.8)
    return element("polygon", points=points, style=f"fill: {paint}", stroke="ink", stroke_width=0.8)


@dataclass(frozen=True, slots=True)
class _Axis:
    """From one power of two to another, beginning so many pixels from the left and ending before a margin."""

    left: float
    first: int
    last: int
    margin: float = _TEXT + 14

    def at(self, ratio: float) -> float:
        """Return where a ratio lies, in pixels from the left; what is beyond an end lies there."""
        right = _WIDTH - self.margin
        place = (math.log2(ratio) - self.first) / (self.last - self.first)
        return self.left + (right - self.left) * min(max(place, 0.0), 1.0)

    def grid(self, height: float) -> str:
        """Return lines at the powers of two, with their values above and below."""
        lines = []
        for power in range(self.first, self.last + 1):
            x = self.at(2.0**power)
            stroke, width = ("ink", 1.2) if power == 0 else ("line", 1.0)
            lines.append(
                element("line", x1=x, x2=x, y1=_EDGE - 6, y2=height - _EDGE, stroke=stroke, stroke_width=width)
            )
            value = f"{2**power}×" if power >= 0 else f"1/{2**-power}×"
            for y in (_EDGE - 12.0, height - _EDGE + 16):
                lines.append(_words(x, y, value, text_anchor="middle", fill="faint", font_size=11))
        return "".join(lines)


def _bar(bar: RatioBar, top: float, indent: float, axis: _Axis, look: EntryLook) -> str:
    color, middle = look.color, top + _LINE / 2
    start, end = sorted((axis.at(1.0), axis.at(bar.value)))
    tip = axis.at(bar.value)
    points = " ".join(
        f"{tip + 3.4 * x:.2f},{middle + 3.4 * y:.2f}" for x, y in _MARKS.get(look.marker, _MARKS["o"])
    )
    fill = {"fill": "paper"} if look.is_hollow else {"style": f"fill: {figure_paint(color)}"}
    whisker = {"y1": middle, "y2": middle, "stroke": "ink", "stroke_width": 1.0}
    parts = [
        _words(8, middle + 4, fitted(bar.label, _LABEL - 8, 12, mono=False)),
        _words(indent, middle + 4, fitted(bar.rival, _RIVAL - 8, 12, mono=False), fill="faint"),
        element(
            "rect",
            x=start,
            y=middle - 5,
            width=max(end - start, 0.5),
            height=10,
            style=f"fill: {figure_paint(color)}",
            fill_opacity=0.75,
        ),
        element("line", x1=axis.at(bar.low), x2=axis.at(bar.high), **whisker),
        _break(axis, bar.value, middle),
        element("polygon", points=points, stroke="ink", stroke_width=0.8, **fill),
        _words(_WIDTH - _TEXT, middle + 4, bar.text, font_size=11),
    ]
    return "".join(parts)


def _break(axis: _Axis, value: float, middle: float) -> str:
    """Return two slanted cuts through a bar that is longer than the axis."""
    if 2.0**axis.first <= value <= 2.0**axis.last:
        return ""
    x = axis.at(value) + (-26 if value > 1 else 16)
    gap = element("path", d=f"M{x:.1f},{middle + 8:.1f} l8,-16 h5 l-8,16 z", fill="paper")
    cuts = element("path", d=f"M{x:.1f},{middle + 8:.1f} l8,-16 m5,0 l-8,16", fill="none", stroke="ink")
    return element("g", element("title", "longer than the axis"), gap, cuts, class_="break")


def _words(x: float, y: float, text: str, **more: object) -> str:
    attributes: dict[str, object] = {"fill": "ink", **more}
    return element("text", escaped(text), x=x, y=y, **attributes)
