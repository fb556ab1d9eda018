"""Parallel coordinates of a sweep: the fastest variants over all that were timed, and what knobs explain."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lhkit.draw.figures import NARROW, with_narrow
from lhkit.draw.theme import BLUE, GREY, VERMILION
from lhkit.model.errors import usage_error
from lhkit.sweeps import sweep_summary
from lhkit.sweeps.confirmation import Ahead, ahead_of
from lhkit.sweeps.space import Axis
from lhkit.sweeps.sweep_charts import ratio_text
from lhkit.sweeps.variant_record import FAILED, SweepRecord, originals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LABELS = 12
_CONTENDERS = 10
# From the slowest contender to the best, told apart without red and green; each has three times the luminance
# of either paper, or a third of it.
_LINE_COLORS = (BLUE, "#9b5fa8", VERMILION)


@dataclass(frozen=True, slots=True)
class ParallelLine:
    """One contender, its time as a multiple of the least; ``level`` is its place, from the last (0) to 1."""

    places: tuple[int, ...]
    ratio: float
    level: float
    is_best: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """Variants of the rest that have the same values on an axis and the next one; ``share`` of the most."""

    axis: int
    start: int
    end: int
    share: float


@dataclass(frozen=True, slots=True)
class ParallelCoordinates:
    """The plot: axes by importance, the contenders from the slowest to the best, and the rest in segments.

    ``least`` has, for each value of each axis, the least time of a variant that has it (None: none was timed);
    ``ahead`` says what a thick line means.
    """

    axes: tuple[Axis, ...]
    lines: tuple[ParallelLine, ...]
    rest: tuple[Segment, ...]
    least: tuple[tuple[float | None, ...], ...]
    variants: int
    failed: int
    ahead: str
    importance: sweep_summary.KnobImportance


def parallel_coordinates(records: Sequence[SweepRecord], *, ahead: Ahead | None = None) -> ParallelCoordinates:
    """Return what to draw of a sweep."""
    importance = sweep_summary.knob_importance(records)
    values = {name: own for name, own in sweep_summary.knob_values(records).items() if len(own) > 1}
    if not values:
        raise usage_error("no knob was varied, so there is nothing to draw against one another")
    ranked = [i.knob for i in importance.knobs]
    names = sorted(values, key=lambda n: ranked.index(n) if n in ranked else len(ranked))
    times = sweep_summary.relative_times(records, hopeless=True)
    ahead = ahead or ahead_of((), (key for key, _ in sweep_summary.best_by_payload(records).values()))
    tried = originals(records)
    # Of equal programs the one that was timed; those that are ahead in any case, and on top.
    own = [r for r in records if r.key in times and (r.same_as is None or r.key in ahead.keys)]
    own.sort(key=lambda r: (r.key not in ahead.keys, times[r.key]))
    chosen = own[: max(_CONTENDERS, len(ahead.keys & times.keys()))]
    chosen.sort(key=lambda r: (times[r.key], r.key not in ahead.keys), reverse=True)  # as the colour bar says
    places = {r.key: tuple(list(values[n]).index(r.values[n]) for n in names) for r in records}
    lines = tuple(
        ParallelLine(places[r.key], times[r.key], (i + 1) / len(chosen), r.key in ahead.keys)
        for i, r in enumerate(chosen)
    )
    least: list[list[float | None]] = [[None] * len(values[n]) for n in names]
    for key, ratio in times.items():
        for axis, place in enumerate(places[key]):
            least[axis][place] = min(ratio, least[axis][place] or math.inf)
    return ParallelCoordinates(
        axes=tuple(Axis(n, values[n]) for n in names),
        lines=lines,
        rest=_segments([places[r.key] for r in records if r.key in times]),
        least=tuple(map(tuple, least)),
        variants=len(records),
        failed=sum(tried[r.key].status in FAILED for r in records),
        ahead=ahead.words,
        importance=importance,
    )


def _segments(paths: Sequence[tuple[int, ...]]) -> tuple[Segment, ...]:
    counts = Counter((i, *pair) for path in paths for i, pair in enumerate(itertools.pairwise(path)))
    most = max(counts.values(), default=1)
    return tuple(Segment(*key, count / most) for key, count in counts.items())


def draw_parallel_coordinates(plot: ParallelCoordinates) -> Figure:
    """Return a figure: the contenders in colour over all that was timed, and bars of importance beside it.

    In a narrow column the bars are below.
    """
    from matplotlib.figure import Figure

    count, bars = len(plot.axes), 0.9 + 0.45 * max(len(plot.importance.knobs), 2)
    wide = Figure(figsize=(max(9.0, 1.5 * count + 4.2), 4.6), layout="constrained")
    narrow = Figure(figsize=(NARROW, 4.6 + bars), layout="constrained")
    _draw_parallel(wide, wide.subplots(1, 2, width_ratios=(max(count, 3), 2)), plot, 200)
    _draw_parallel(narrow, narrow.subplots(2, 1, height_ratios=(4.6, bars)), plot, 60)
    return with_narrow(wide, narrow)


def _draw_parallel(figure: Figure, both: Sequence[Axes], plot: ParallelCoordinates, letters: int) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    figure.patch.set_alpha(0)
    left, right = both
    _draw_lines(left, plot)
    _draw_importance(right, plot.importance)
    failed = f" ({plot.failed} failed)" if plot.failed else ""
    said = f"the fastest {len(plot.lines)} of {plot.variants:,} variants{failed}; grey: all that were timed"
    said += f"\nthick: {plot.ahead}; beside a value: the least time with it"
    said = "\n".join(line for each in said.split("\n") for line in textwrap.wrap(each, letters))
    figure.suptitle(said, fontsize=9, x=0.01, ha="left")  # over both, or a long line is cut at the edge
    if len(plot.lines) > 1:
        shades = ListedColormap([_shade(line.level) for line in plot.lines])
        bar = figure.colorbar(ScalarMappable(Normalize(0, 1), shades), ax=left, fraction=0.04, pad=0.01)
        bar.set_label("time as a multiple of the least", fontsize=8)
        bar.ax.yaxis.set_label_position("left")  # beside its colours, not beside the bars at the right
        ends = (0.5 / len(plot.lines), 1 - 0.5 / len(plot.lines))
        bar.set_ticks(ends, labels=[f"{plot.lines[i].ratio:.3g}×" for i in (0, -1)])
        bar.outline.set_visible(False)


def _shade(level: float) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("contenders", _LINE_COLORS)(level)


def _draw_lines(axes: Axes, plot: ParallelCoordinates) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    axes.patch.set_alpha(0)
    across = range(len(plot.axes))
    heights_of = [[_height(place, axis) for place in range(len(axis.values))] for axis in plot.axes]
    net = [
        ((p.axis, heights_of[p.axis][p.start]), (p.axis + 1, heights_of[p.axis + 1][p.end])) for p in plot.rest
    ]
    shades = [to_rgba(GREY, 0.1 + 0.3 * part.share) for part in plot.rest]
    axes.add_collection(LineCollection(net, colors=shades, linewidths=0.8, zorder=1))
    for number, line in enumerate(plot.lines):
        heights = [heights_of[i][place] for i, place in enumerate(line.places)]
        path = curve_through(heights, ((number * 0.618034) % 1.0 - 0.5) * 0.3)
        color = _shade(line.level)
        axes.plot(*path, color=color, linewidth=3.2 if line.is_best else 1.5, zorder=3 + line.is_best)
        axes.plot(across, heights, color=color, linestyle="none", marker="o", markersize=4, zorder=4)
    for i, axis in enumerate(plot.axes):
        axes.axvline(i, color="black", linewidth=0.8, zorder=2)
        every = -(-len(axis.values) // _MOST_LABELS)
        for place, value in enumerate(axis.values[::every]):
            box = {"boxstyle": "round,pad=0.1", "facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.75}
            at = (i + 0.03, _height(place * every, axis))
            least = plot.least[i][place * every]
            said = f"{value} ({'none' if least is None else f'{ratio_text(least)}×'})"
            axes.text(*at, said, fontsize=8, va="center", zorder=5, bbox=box)
    names = [_lines_of(axis.name) for axis in plot.axes]
    axes.set_xticks(across, names, rotation=0 if len(plot.axes) < 6 else 20)
    axes.set_yticks([])
    axes.set_xlim(-0.15, len(plot.axes) - 0.6)
    axes.spines[:].set_visible(False)


_POINTS = 12


def curve_through(heights: Sequence[float], bend: float) -> tuple[list[float], list[float]]:
    """Return a curve that meets the axes at these heights and between them keeps apart from others.

    Lines that share their values would hide one another; moved off their values they would show some that
    do not exist. So each bends by its own amount between two axes, and by none on them.
    """
    xs, ys = [0.0], [heights[0]]
    for i, (start, end) in enumerate(itertools.pairwise(heights)):
        for step in range(1, _POINTS + 1):
            t = step / _POINTS
            xs.append(i + t)
            ys.append(
                start + (end - start) * t * t * (3 - 2 * t) + (0.0 if step == _POINTS else bend * t * (1 - t))
            )
    return xs, ys


def _lines_of(name: str) -> str:
    """Return a knob's name in a few lines: one of hundreds of letters would leave no room for the drawing."""
    return textwrap.fill(name, 24, max_lines=3, placeholder=" …")


def _height(place: int, axis: Axis) -> float:
    return place / max(len(axis.values) - 1, 1)


def _draw_importance(axes: Axes, importance: sweep_summary.KnobImportance) -> None:
    axes.patch.set_alpha(0)
    if not importance.knobs:
        axes.set_axis_off()
        words = textwrap.fill(importance.too_few or "no variant was timed", 30)
        axes.text(0.02, 0.98, words, fontsize=9, va="top", transform=axes.transAxes)
        return
    bars = [(i.knob, i.share, f"{100 * i.share:.0f} %, up to {i.gain:.3g}×") for i in importance.knobs]
    if importance.interactions is not None:
        bars.append(("together", importance.interactions, f"{100 * importance.interactions:.0f} %"))
    for row, (_, share, text) in enumerate(bars):
        is_knob = row < len(importance.knobs)
        color, hatch = (BLUE, None) if is_knob else ("none", "//")
        axes.barh(row, share, height=0.6, color=color, edgecolor=BLUE, hatch=hatch)
        axes.text(0.02, row - 0.42, text, fontsize=8, va="center")
    axes.set_yticks(range(len(bars)), [_lines_of(b[0]) for b in bars])
    axes.set_ylim(len(bars) - 0.4, -0.7)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    said = f"share of the {importance.method}"
    rest = 100 * (1 - sum(share for _, share, _ in bars))
    if importance.interactions is None and rest >= 1:  # of ranks the rest is not told apart
        said += f"\n{rest:.0f} % no knob explains alone:\nknobs together, and noise"
    axes.set_xlabel(said, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
