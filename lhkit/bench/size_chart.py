"""GFLOP/s against size, with intervals and the core's peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.draw.figures import new_axes
from lhkit.draw.tables import Table, format_share
from lhkit.draw.theme import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION
from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison
from lhkit.model.sample_statistics import median_interval, values_ns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLORS = (BLUE, ORANGE, GREEN, VERMILION, SKY)
_MARKERS = "osD^v"


@dataclass(frozen=True, slots=True)
class Point:
    """The throughput at a size: GFLOP/s with a 95 % interval, and the share of the peak if it is known."""

    size: float
    gflops: float
    low: float
    high: float
    of_peak: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """An entry at all sizes that it was measured at, in order."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class ThroughputPlot:
    """The plot: one line per entry, and the peak at each size as (size, GFLOP/s)."""

    lines: tuple[Line, ...]
    peak: tuple[tuple[float, float], ...]


def throughput_plot(comparisons: Mapping[float, Comparison]) -> ThroughputPlot:
    """Return what to draw."""
    if not comparisons:
        raise usage_error("there is no comparison to draw")
    points: dict[str, list[Point]] = {}
    peaks = []
    for size, comparison in sorted(comparisons.items()):
        if comparison.flops is None:
            raise usage_error(f"the operations of {comparison.payload} cannot be counted")
        peak = comparison.limits.peak_gflops(comparison.element_type) if comparison.limits else None
        if peak is not None:
            peaks.append((size, peak))
        for m in comparison.measurements:
            rate = median_interval([comparison.flops / value for value in values_ns(m)])
            of_peak = rate.middle / peak if peak else None
            points.setdefault(m.name, []).append(Point(size, rate.middle, rate.low, rate.high, of_peak))
    return ThroughputPlot(tuple(Line(n, tuple(p)) for n, p in points.items()), tuple(peaks))


def throughput_table(plot: ThroughputPlot, size_label: str = "size") -> Table:
    """Return GFLOP/s as a table, a row an entry and size."""
    rows = tuple(
        (
            line.label,
            f"{p.size:g}",
            f"{p.gflops:.3g}",
            f"{p.low:.3g} – {p.high:.3g}",
            "" if p.of_peak is None else format_share(p.of_peak),
        )
        for line in plot.lines
        for p in line.points
    )
    return Table(("", size_label, "GFLOP/s", "95 % interval", "of the peak"), rows)


def draw_throughput(comparisons: Mapping[float, Comparison], *, size_label: str = "size") -> Figure:
    """Return a figure of GFLOP/s against size, the peak dashed."""
    plot = throughput_plot(comparisons)
    figure, axes = new_axes(7.2, 4.2)
    for i, line in enumerate(plot.lines):
        sizes, rates = [p.size for p in line.points], [p.gflops for p in line.points]
        spread = [[p.gflops - p.low for p in line.points], [p.high - p.gflops for p in line.points]]
        axes.errorbar(
            sizes,
            rates,
            yerr=spread,
            label=line.label,
            color=_COLORS[i % len(_COLORS)],
            marker=_MARKERS[i % len(_MARKERS)],
            capsize=3,
            linewidth=1.6,
        )
    if plot.peak:
        axes.plot(*zip(*plot.peak, strict=True), color=GREY, linestyle="--", label="FMA peak of the core")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(size_label)
    axes.set_ylabel("GFLOP/s (median and 95 % interval)")
    # Above the axes, where no line runs.
    figure.legend(loc="outside upper left", ncols=min(len(plot.lines) + bool(plot.peak), 4), frameon=False)
    return figure
