"""Parallel coordinates of a sweep over many knobs, with the importance of each."""

from __future__ import annotations

import bisect
import statistics
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.draw.theme import BLUE, GREY, VERMILION
from lhkit.model.errors import usage_error
from lhkit.sweeps.knob_importance import knob_importance
from lhkit.sweeps.sweep_summary import best_by_payload, knob_values, relative_times
from lhkit.sweeps.variant_record import KnobImportance, SweepRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LINES = 1500
_MOST_LABELS = 12
_MAP = "cividis"


@dataclass(frozen=True, slots=True)
class ParallelAxis:
    """A vertical axis: a knob and its values in words, from below."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParallelLine:
    """One variant.

    Attributes:
        places: The place of its value on each axis, from 0.
        level: Its place by speed, from the slowest (0) to the best (1): half of the lines are brighter than a
            half, however slow the slowest is; None where it failed.
        is_best: Whether it is the winner, or the best where there is none.
    """

    places: tuple[int, ...]
    level: float | None
    is_best: bool


@dataclass(frozen=True, slots=True)
class ParallelCoordinates:
    """The plot of parallel coordinates.

    Attributes:
        axes: The knobs that were varied, the most important first.
        lines: The variants: the failed first, then from the slowest to the best, which thus lies on top.
        worst: The time of the slowest as a multiple of the best.
        middle: The median time, in the same unit.
        left_out: How many variants in the middle are not drawn.
        importance: What the bars beside it show.
    """

    axes: tuple[ParallelAxis, ...]
    lines: tuple[ParallelLine, ...]
    worst: float
    middle: float
    left_out: int
    importance: KnobImportance


def parallel_coordinates(
    records: Sequence[SweepRecord], *, winners: Collection[str] = ()
) -> ParallelCoordinates:
    """Return what to draw of a sweep."""
    importance = knob_importance(records)
    values = {name: own for name, own in knob_values(records).items() if len(own) > 1}
    if not values:
        raise usage_error("no knob was varied, so there is nothing to draw against one another")
    ranked = [i.knob for i in importance.knobs]
    names = sorted(values, key=lambda n: ranked.index(n) if n in ranked else len(ranked))
    times = relative_times(records, hopeless=True)
    framed = winners or {key for key, _ in best_by_payload(records).values()}
    ordered = sorted(times.values())
    worst, middle = max(ordered, default=1.0), statistics.median(ordered) if ordered else 1.0
    lines = []
    for record in records:
        ratio = times.get(record.key)
        level = None if ratio is None else 1 - bisect.bisect_left(ordered, ratio) / max(len(ordered) - 1, 1)
        own = record.values
        places = tuple(list(values[n]).index(own[n]) for n in names)
        lines.append(ParallelLine(places, level, record.key in framed))
    lines.sort(key=lambda line: (line.is_best, -1.0 if line.level is None else line.level))
    kept = _thinned(lines)
    axes = tuple(ParallelAxis(n, tuple(map(str, values[n]))) for n in names)
    return ParallelCoordinates(axes, tuple(kept), worst, middle, len(lines) - len(kept), importance)


def _thinned(lines: list[ParallelLine]) -> list[ParallelLine]:
    """Return the best of too many lines, and of the others every so many."""
    if len(lines) <= _MOST_LINES:
        return lines
    half = _MOST_LINES // 2
    others = lines[:-half]
    return others[:: -(-len(others) // half)] + lines[-half:]


def draw_parallel_coordinates(plot: ParallelCoordinates) -> Figure:
    """Return a figure: one line per variant, bright where it is fast, and bars of importance beside it."""
    from matplotlib.figure import Figure

    count = len(plot.axes)
    figure = Figure(figsize=(max(7.2, 1.3 * count + 4.2), 4.2), layout="constrained")
    figure.patch.set_alpha(0)
    left, right = figure.subplots(1, 2, width_ratios=(max(count, 3), 2))
    _draw_lines(left, plot)
    _draw_importance(right, plot.importance)
    title = "every variant; thick: the best"
    if plot.left_out:
        title += f" ({plot.left_out:,} in the middle left out)"
    left.set_title(title, fontsize=9)
    _add_scale(figure, left, plot)
    return figure


def _draw_lines(axes: Axes, plot: ParallelCoordinates) -> None:
    import matplotlib as mpl

    axes.patch.set_alpha(0)
    colors = mpl.colormaps[_MAP]
    across = range(len(plot.axes))
    for number, line in enumerate(plot.lines):
        heights = [_height(line.places[i], len(axis.values), number) for i, axis in enumerate(plot.axes)]
        if line.is_best:
            axes.plot(across, heights, color=VERMILION, linewidth=3, marker="o", zorder=4)
        elif line.level is None:
            axes.plot(across, heights, color=GREY, linewidth=0.7, linestyle=":", alpha=0.7, zorder=1)
        else:
            axes.plot(across, heights, color=colors(line.level), linewidth=1.1, alpha=0.8, zorder=2)
    for i, axis in enumerate(plot.axes):
        axes.axvline(i, color="black", linewidth=0.8, zorder=3)
        every = -(-len(axis.values) // _MOST_LABELS)
        for place, text in enumerate(axis.values[::every]):
            at = (i + 0.03, _middle(place * every, len(axis.values)))
            box = {"boxstyle": "round,pad=0.1", "facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.75}
            axes.text(*at, text, fontsize=8, va="center", zorder=5, color="#1b1b1f", bbox=box)
    axes.set_xticks(
        across, [_lines_of(axis.name) for axis in plot.axes], rotation=0 if len(plot.axes) < 6 else 20
    )
    axes.set_yticks([])
    axes.set_xlim(-0.15, len(plot.axes) - 0.6)
    axes.spines[:].set_visible(False)


def _lines_of(name: str) -> str:
    """Return a knob's name in a few lines: one of hundreds of letters would leave no room for the drawing."""
    return textwrap.fill(name, 24, max_lines=3, placeholder=" …")


def _middle(place: int, count: int) -> float:
    return place / max(count - 1, 1)


def _height(place: int, count: int, number: int) -> float:
    """Return where a line crosses an axis: lines of one value lie a little apart, always in the same way."""
    spread = ((number * 0.618034) % 1.0 - 0.5) * 0.5 / max(count - 1, 1)
    return _middle(place, count) + spread


def _add_scale(figure: Figure, axes: Axes, plot: ParallelCoordinates) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    bar = figure.colorbar(ScalarMappable(Normalize(0, 1), _MAP), ax=axes, fraction=0.04, pad=0.01)
    bar.set_ticks([0, 0.5, 1], labels=[f"{plot.worst:.3g}×", f"{plot.middle:.3g}×", "best"])
    bar.outline.set_visible(False)


def _draw_importance(axes: Axes, importance: KnobImportance) -> None:
    axes.patch.set_alpha(0)
    bars = [(i.knob, i.share, f"{100 * i.share:.0f} %, up to {i.gain:.3g}×") for i in importance.knobs]
    if importance.interactions is not None:
        bars.append(("together", importance.interactions, f"{100 * importance.interactions:.0f} %"))
    for row, (name, share, text) in enumerate(bars):
        is_rest = name == "together" and row == len(bars) - 1 and importance.interactions is not None
        axes.barh(
            row,
            share,
            height=0.6,
            color="none" if is_rest else BLUE,
            edgecolor=BLUE,
            hatch="//" if is_rest else None,
        )
        axes.text(0.02, row - 0.42, text, fontsize=8, va="center")
    axes.set_yticks(range(len(bars)), [_lines_of(b[0]) for b in bars])
    axes.set_ylim(len(bars) - 0.4, -0.7)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    axes.set_xlabel(f"share of the {importance.method}", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
