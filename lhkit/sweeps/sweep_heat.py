"""Heat maps of a sweep over two or three knobs: values and drawing."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.draw.tables import format_ns
from lhkit.draw.theme import VERMILION
from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.sweeps.sweep_summary import (
    PAYLOAD_AXIS,
    best_by_payload,
    knob_values,
    relative_times,
    varied_knobs,
)
from lhkit.sweeps.variant_record import SweepRecord, SweepStatus, originals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The mark in the cell of a variant that failed; never colour alone.
MARKS: Mapping[SweepStatus, str] = {
    "invalid-config": "∅",
    "schedule-failed": "✕",
    "compile-failed": "▲",
    "wrong-result": "≠",
    "crashed": "†",
    "timeout": "◔",
    "out-of-memory": "▣",
}
MOST_KNOBS = 3
# Cells of larger maps are too small for numbers.
_MOST_PRINTED = 24
_MAP = "cividis"
_DARK_BELOW = 0.55


@dataclass(frozen=True, slots=True)
class Cell:
    """One variant of a heat map.

    Attributes:
        row: Place of its value on the vertical axis.
        column: Place of its value on the horizontal axis.
        status: Its status.
        text: Its time as a multiple of the best, or the mark of its failure.
        level: Its speed, on a logarithmic scale from the slowest (0) to the best (1); None where it has none.
        is_framed: Whether it is the winner, or the best where there is none.
    """

    row: int
    column: int
    status: SweepStatus
    text: str
    level: float | None
    is_framed: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One map: the value of the third knob, in words, and its cells; untried places have none."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The plot of heat maps.

    Attributes:
        x_name: The knob on the horizontal axis.
        x_values: Its values in words.
        y_name: The knob on the vertical axis; empty where only one knob was varied.
        y_values: Its values in words.
        facets: A map for each value of a third knob, or one.
        best_ns: The time of the best in ns, that the others are multiples of; None if there is none, or one
            of each payload.
        worst: The largest of these multiples.
        legend: The marks that occur, with their meaning.
        is_timed: Whether any variant was timed.
        is_confirmed: Whether what is framed was ahead when the best few were timed again.
    """

    x_name: str
    x_values: tuple[str, ...]
    y_name: str
    y_values: tuple[str, ...]
    facets: tuple[Facet, ...]
    best_ns: int | None
    worst: float
    legend: tuple[tuple[str, str], ...]
    is_timed: bool
    is_confirmed: bool


def heat_map(
    records: Sequence[SweepRecord],
    *,
    values: Mapping[str, Sequence[KnobValue]] | None = None,
    winners: Collection[str] = (),
) -> HeatMap:
    """Return what to draw of a sweep over at most three knobs, one of which may be the payload."""
    known = dict(values) if values is not None else knob_values(records)
    names = [n for n in known if len(known[n]) > 1] or list(known)[:1]
    if len(names) > MOST_KNOBS:
        advice = "Draw parallel coordinates, or choose the records of one value."
        raise usage_error(f"a heat map has two or three knobs, not {len(names)}: {', '.join(names)}", advice)
    # The payload, or else the knob with the fewest values, is the facet.
    names.sort(key=lambda n: (n == PAYLOAD_AXIS, -len(known[n])))
    x, y, by = (*names, *[""] * MOST_KNOBS)[:MOST_KNOBS]
    painter = _Painter(records, winners)
    facets = []
    for value in known[by] if by else (None,):
        chosen = [r for r in records if not by or r.values[by] == value]
        cells = [painter.cell(r, _place(known, y, r), _place(known, x, r)) for r in chosen]
        facets.append(Facet(f"{by} = {value}" if by else "", tuple(cells)))
    shown = {c.status for f in facets for c in f.cells}
    return HeatMap(
        x_name=x,
        x_values=tuple(map(str, known.get(x, ("",)))),
        y_name=y,
        y_values=tuple(map(str, known.get(y, ("",)))),
        facets=tuple(facets),
        best_ns=painter.best_ns,
        worst=painter.worst,
        legend=tuple((mark, status) for status, mark in MARKS.items() if status in shown),
        is_timed=bool(painter.best),
        is_confirmed=bool(winners),
    )


def _place(known: Mapping[str, Sequence[KnobValue]], name: str, record: SweepRecord) -> int:
    return list(known[name]).index(record.values[name]) if name else 0


class _Painter:
    """Makes the cells of records."""

    def __init__(self, records: Sequence[SweepRecord], winners: Collection[str]) -> None:
        self._ratios = relative_times(records, hopeless=True)
        self._tried = originals(records)
        self.best = best_by_payload(records)
        self.best_ns = next(iter(self.best.values()))[1] if len(self.best) == 1 else None
        self.worst = max(self._ratios.values(), default=1.0)
        self._framed = winners or {key for key, _ in self.best.values()}

    def cell(self, record: SweepRecord, row: int, column: int) -> Cell:
        ratio = self._ratios.get(record.key)
        is_framed = record.key in self._framed
        if ratio is None:
            status = self._tried[record.key].status  # a program equal to one that failed fails alike
            return Cell(row, column, status, MARKS.get(status, "?"), None, is_framed)
        scale = math.log(self.worst) or 1.0
        # A hopeless one was run once: its number is rough.
        text = f"≈{_number(ratio)}" if record.status == "stopped-early" else _number(ratio)
        level = min(max(1 - math.log(ratio) / scale, 0.0), 1.0)
        return Cell(row, column, record.status, text, level, is_framed)


def _number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def draw_heat_map(heat: HeatMap) -> Figure:
    """Return a figure of heat maps side by side, values in the cells, failures as marks, the winner framed."""
    from matplotlib.figure import Figure

    columns, rows, count = len(heat.x_values), len(heat.y_values), len(heat.facets)
    across = min(count, max(1, 12 // max(columns, 3)))
    down = -(-count // across)
    size = 0.55 if max(columns, rows) <= _MOST_PRINTED else 0.16
    width = max(4.2, across * (columns * size * 1.25 + 0.5) + 1.6)
    figure = Figure(figsize=(width, down * (rows * size + 0.9) + 1.0), layout="constrained")
    figure.patch.set_alpha(0)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[count:]:
        axes.set_visible(False)
    for facet, axes in zip(heat.facets, grid.flat, strict=False):
        _draw_facet(axes, heat, facet)
    for axes in grid[:, 0]:
        axes.set_ylabel(heat.y_name)
    for axes in grid.flat[max(count - across, 0) : count]:
        axes.set_xlabel(heat.x_name)
        axes.tick_params(labelbottom=True)
    figure.suptitle(_title(heat), fontsize=10)
    if heat.legend:
        figure.supxlabel("   ".join(f"{mark} {words}" for mark, words in heat.legend), fontsize=9)
    return figure


def _title(heat: HeatMap) -> str:
    if not heat.is_timed:
        return "no variant was timed"
    best = "the best of each payload" if heat.best_ns is None else f"the best, {format_ns(heat.best_ns)}"
    framed = "ahead when timed again" if heat.is_confirmed else "the best"
    return f"time as a multiple of {best} (framed: {framed})"


def _draw_facet(axes: Axes, heat: HeatMap, facet: Facet) -> None:
    import matplotlib as mpl
    from matplotlib.patches import Rectangle

    colors = mpl.colormaps[_MAP]
    is_printed = max(len(heat.x_values), len(heat.y_values)) <= _MOST_PRINTED
    for cell in facet.cells:
        x, y = cell.column - 0.5, cell.row - 0.5
        fill = colors(cell.level) if cell.level is not None else "none"
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=fill, edgecolor="#8a8f98", linewidth=0.6))
        if is_printed or cell.level is None:
            ink = "black" if cell.level is None else ("#ffffff" if cell.level < _DARK_BELOW else "#101014")
            axes.text(cell.column, cell.row, cell.text, ha="center", va="center", color=ink, fontsize=8)
    for cell in facet.cells:
        if cell.is_framed:
            corner = (cell.column - 0.5, cell.row - 0.5)
            frame = Rectangle(corner, 1, 1, facecolor="none", edgecolor=VERMILION, linewidth=2.4, zorder=3)
            axes.add_patch(frame)
    axes.patch.set_alpha(0)
    axes.set_xlim(-0.55, len(heat.x_values) - 0.45)
    axes.set_ylim(-0.55, len(heat.y_values) - 0.45)
    axes.set_xticks(range(len(heat.x_values)), heat.x_values, rotation=0 if len(heat.x_values) < 12 else 90)
    axes.set_yticks(range(len(heat.y_values)), heat.y_values)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if facet.label:
        axes.set_title(facet.label, fontsize=9)


def can_be_mapped(records: Sequence[SweepRecord]) -> bool:
    """Return whether few enough knobs were varied for heat maps."""
    return len(varied_knobs(records)) <= MOST_KNOBS
