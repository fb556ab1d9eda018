"""Bar charts of speeds with intervals, in matplotlib."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.draw.figures import new_axes
from lhkit.draw.tables import format_ns, format_share
from lhkit.draw.theme import BLUE, GREY
from lhkit.model.measurement import Comparison
from lhkit.model.sample_statistics import Summary, summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL_WIDTH = 28


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, length, interval, and the text at its end; all in multiples of the anchor's speed."""

    label: str
    value: float
    low: float
    high: float
    text: str
    is_anchor: bool
    is_disturbed: bool = False


def speed_bars(comparison: Comparison) -> tuple[Bar, ...]:
    """Return what to draw: the speed of each entry, and its share of the limit that it is nearer to."""
    return tuple(
        Bar(
            label=s.name,
            value=s.speed.middle,
            low=s.speed.low,
            high=s.speed.high,
            text=f"{s.speed.middle:.3g}×  ({format_ns(s.median_ns)}{_share_of_limit(s)})",
            is_anchor=s.name == comparison.anchor,
            is_disturbed=m.is_disturbed,
        )
        for s, m in zip(summarize(comparison), comparison.measurements, strict=True)
    )


def _share_of_limit(summary: Summary) -> str:
    """Return the larger share of the core's limits, in words; it is the one that binds."""
    of_peak, of_copy = summary.of_peak or 0.0, summary.of_copy or 0.0
    if not of_peak and not of_copy:
        return ""
    share, limit = (of_peak, "FMA peak") if of_peak >= of_copy else (of_copy, "copy bandwidth")
    return f", {format_share(share)} of {limit}"


def draw_speed_bars(comparison: Comparison) -> Figure:
    """Return a figure of speeds with 95 % intervals; the anchor is hatched and marked by a line."""
    bars = speed_bars(comparison)
    figure, axes = new_axes(7.2, 0.9 + 0.5 * len(bars))
    for row, bar in enumerate(bars):
        hatch = "//" if bar.is_anchor else None
        color = GREY if bar.is_anchor else BLUE
        axes.barh(row, bar.value, height=0.62, color="none" if hatch else color, edgecolor=color, hatch=hatch)
        spread = [[bar.value - bar.low], [bar.high - bar.value]]
        axes.errorbar(bar.value, row, xerr=spread, color="black", capsize=4, linewidth=1.2)
    axes.axvline(1.0, color=GREY, linewidth=1, linestyle="--", zorder=0)
    axes.set_yticks(range(len(bars)), [textwrap.fill(b.label, _LABEL_WIDTH) for b in bars])
    axes.set_xlim(0, max(b.high for b in bars) * 1.05)
    _say_beside(axes, bars)
    disturbed = "\n≈ disturbed: other timings ran on this machine" if any(b.is_disturbed for b in bars) else ""
    axes.set_xlabel(f"speed as a multiple of {comparison.anchor} (median and 95 % interval){disturbed}")
    return figure


def _say_beside(axes: Axes, bars: tuple[Bar, ...]) -> None:
    """Write the texts in a column at the right, as tick labels: the layout leaves room for those."""
    beside = axes.twinx()
    for each in (axes, beside):
        each.set_ylim(len(bars) - 0.5, -0.5)
    beside.set_yticks(range(len(bars)), [f"≈ {b.text}" if b.is_disturbed else b.text for b in bars], fontsize=9)
    beside.tick_params(axis="y", length=0)
    beside.patch.set_alpha(0)
    beside.spines[["top", "right", "left", "bottom"]].set_visible(False)
