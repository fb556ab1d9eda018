"""Charts of measurements: speeds beside an anchor, GFLOP/s against size, rooflines."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lhkit.draw.entry_looks import entry_looks
from lhkit.draw.figures import NARROW, cut, new_axes, spaced, with_narrow
from lhkit.draw.tables import Table, format_ns, format_share
from lhkit.draw.theme import FAINT, GREY
from lhkit.model.errors import usage_error
from lhkit.model.measurement import Comparison, Interval
from lhkit.model.sample_statistics import MARGIN, Summary, median_interval, rank_entries, summarize, values_ns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL_WIDTH = 28
_LINES: Mapping[str, Any] = {"max_lines": 4, "placeholder": " …"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One entry: its label, speed, interval, and the text beside it; all in multiples of the anchor's speed.

    ``rank`` is its place, ``2=`` where it is shared: these were not told apart.
    """

    label: str
    value: float
    low: float
    high: float
    text: str
    is_anchor: bool
    is_disturbed: bool = False
    rank: str = ""


def speed_bars(comparison: Comparison) -> tuple[Bar, ...]:
    """Return what to draw: the speed of each entry, and its share of the limit that it is nearer to.

    Times and shares follow from the speeds: the median of an entry that sat out rounds may order entries the
    other way when the clock drifts.
    """
    summaries = summarize(comparison, by_ratio=True)
    places = {r.name: r.text for r in rank_entries(comparison)}
    return tuple(
        Bar(
            label=s.name,
            value=s.speed.middle,
            low=s.speed.low,
            high=s.speed.high,
            text=f"{s.speed.middle:.3g}×  ({format_ns(s.median_ns)}{_share_of_limit(s)})",
            is_anchor=s.name == comparison.anchor,
            is_disturbed=m.is_disturbed,
            rank=places[s.name],
        )
        for s, m in zip(summaries, comparison.measurements, strict=True)
    )


def _share_of_limit(summary: Summary) -> str:
    """Return the larger share of the core's limits, in words; it is the one that binds."""
    shares = [(summary.of_peak or 0.0, "FMA peak"), (summary.of_copy or 0.0, "copy bandwidth")]
    share, limit = max(shares, key=lambda s: s[0])
    return f", {format_share(share)} of {limit}" if share else ""


def draw_speed_bars(comparison: Comparison) -> Figure:
    """Return a figure of speeds as dots with 95 % intervals on a logarithmic axis, a line at the anchor's.

    In a narrow column names and numbers are above their rows.
    """
    wide, narrow = (_speed_figure(comparison, is_narrow=is_narrow) for is_narrow in (False, True))
    return with_narrow(wide, narrow)


def _speed_figure(comparison: Comparison, *, is_narrow: bool) -> Figure:
    bars = speed_bars(comparison)
    looks = entry_looks(b.label for b in bars)
    width, row_height = (NARROW, 0.6) if is_narrow else (7.2, 0.42)
    figure, axes = new_axes(width, 1.35 + row_height * len(bars))
    axes.set_xscale("log")
    for row, bar in enumerate(bars):
        spread = [[bar.value - bar.low], [bar.high - bar.value]]
        axes.errorbar(
            bar.value, row, xerr=spread, markersize=7, capsize=4, linewidth=1.6, **looks[bar.label].style
        )
    axes.axvline(1.0, color=GREY, linewidth=1, linestyle="--", zorder=0)
    axes.set_yticks(range(len(bars)), [textwrap.fill(b.label, _LABEL_WIDTH, **_LINES) for b in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    low, high = min(b.low for b in bars), max(b.high for b in bars)
    axes.set_xlim(low / _MARGIN_RATIO, high * _MARGIN_RATIO)
    axes.set_xticks([], minor=True)
    ticks = ratio_ticks(low / _MARGIN_RATIO, high * _MARGIN_RATIO)
    axes.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    (_say_above if is_narrow else _say_beside)(axes, bars)
    anchor = cut(comparison.anchor, _LONGEST_LABEL)  # a long name leaves no room
    notes = [
        f"median of the rounds' ratios to {anchor}, with 95 % interval;\ntime = median of {anchor} / speed"
    ]
    if any(b.rank.endswith("=") for b in bars):
        notes.append(f"=  tied: not told apart by over {100 * MARGIN:.0f} %")
    if any(b.is_disturbed for b in bars):
        notes.append("≈  disturbed: other timings ran on this machine")
    axes.set_xlabel(f"speed as a multiple of {anchor}")
    figure.supxlabel("\n".join(notes), fontsize=8, color=FAINT)
    return figure


# The ends of the axis of speeds lie so much beyond the intervals.
_MARGIN_RATIO = 1.15
_MOST_TICKS = 5


def ratio_ticks(low: float, high: float) -> list[float]:
    """Return round multiples between two ends, as many as can be read: 1-2-5, 1-3 or only powers of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [float(f"{s * 10.0**p:.3g}") for p in powers for s in steps if low <= s * 10.0**p <= high]
        if len(found) <= _MOST_TICKS:
            return found
    return found[:: -(-len(found) // _MOST_TICKS)]


def _say_beside(axes: Axes, bars: tuple[Bar, ...]) -> None:
    """Write the texts in a column at the right, as tick labels: the layout leaves room for those."""
    beside = axes.twinx()
    beside.set_ylim(axes.get_ylim())
    said = ["\n".join(_said(bar)) for bar in bars]  # in two lines, to leave room for the drawing
    beside.set_yticks(range(len(bars)), said, fontsize=9)
    beside.tick_params(axis="y", length=0)
    beside.patch.set_alpha(0)
    beside.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _say_above(axes: Axes, bars: tuple[Bar, ...]) -> None:
    """Write names and texts above the rows: beside them nothing would be left of the drawing."""
    axes.set_yticks(range(len(bars)), [""] * len(bars))
    axes.set_ylim(len(bars) - 0.5, -0.9)
    for row, bar in enumerate(bars):
        said = f"{cut(bar.label, _LABEL_WIDTH)}: {' '.join(_said(bar))}"
        axes.text(0.01, row - 0.3, said, transform=axes.get_yaxis_transform(), fontsize=8.5)


def _said(bar: Bar) -> tuple[str, str]:
    """Return the text of a bar in two parts: speed and rank, time and share."""
    speed, _, rest = bar.text.partition("  ")
    return f"{'≈ ' * bar.is_disturbed}{speed}, rank {bar.rank}", rest


_IN_LEGEND = 26
# Labels of sizes are at least such a share of the axis apart.
_LABELS_APART = 0.08


def apart(places: Sequence[float]) -> set[int]:
    """Return which of some places in ascending order have room for a label, from the last one down."""
    least, found = _LABELS_APART * (places[-1] - places[0]), {len(places) - 1}
    for at in reversed(range(len(places) - 1)):
        if places[min(found)] - places[at] >= least:
            found.add(at)
    return found


@dataclass(frozen=True, slots=True)
class Point:
    """The throughput at a size: GFLOP/s with a 95 % interval, and the share of the peak if it is known."""

    size: float
    gflops: float
    low: float
    high: float
    of_peak: float | None


@dataclass(frozen=True, slots=True)
class ThroughputPlot:
    """The plot: the points of each entry in order of size, and the peak at each size as (size, GFLOP/s)."""

    lines: Mapping[str, Sequence[Point]]
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
        for entry, rate in _gflops(comparison, comparison.flops).items():
            of_peak = rate.middle / peak if peak else None
            points.setdefault(entry, []).append(Point(size, rate.middle, rate.low, rate.high, of_peak))
    return ThroughputPlot(points, tuple(peaks))


def _gflops(comparison: Comparison, flops: float) -> dict[str, Interval]:
    """Return the GFLOP/s of each entry as the bars and tables have them: by the median of its ratios."""
    found = {}
    for s, m in zip(summarize(comparison, by_ratio=True), comparison.measurements, strict=True):
        rate, own = flops / s.median_ns, median_interval([1 / value for value in values_ns(m)])
        low, high = rate * own.low / own.middle, rate * own.high / own.middle
        found[s.name] = Interval(low=low, middle=rate, high=high)
    return found


def _rates(point: Point | RooflinePoint) -> tuple[str, str]:
    return f"{point.gflops:.3g}", f"{point.low:.3g} – {point.high:.3g}"


def throughput_table(plot: ThroughputPlot, size_label: str = "size") -> Table:
    """Return GFLOP/s as a table, a row an entry and size."""
    rows = tuple(
        (label, f"{p.size:g}", *_rates(p), "" if p.of_peak is None else format_share(p.of_peak))
        for label, points in plot.lines.items()
        for p in points
    )
    return Table(("", size_label, "GFLOP/s", "95 % interval", "of the peak"), rows)


def draw_throughput(comparisons: Mapping[float, Comparison], *, size_label: str = "size") -> Figure:
    """Return a figure of GFLOP/s against size, the peak dashed."""
    plot = throughput_plot(comparisons)
    looks = entry_looks(plot.lines)
    figure, axes = new_axes(7.2, 4.2)
    for label, points in plot.lines.items():
        sizes, rates = [p.size for p in points], [p.gflops for p in points]
        spread = [[p.gflops - p.low for p in points], [p.high - p.gflops for p in points]]
        axes.errorbar(
            sizes,
            rates,
            yerr=spread,
            label=cut(label, _IN_LEGEND),
            capsize=3,
            linewidth=1.6,
            linestyle=looks[label].line,
            **looks[label].style,
        )
    if plot.peak:
        axes.plot(*zip(*plot.peak, strict=True), color=GREY, linestyle="--", label="FMA peak of the core")
    axes.set_ylim(bottom=0)
    sizes = sorted(comparisons)
    if is_log := sizes[0] > 0:
        axes.set_xscale("log", base=2)
    axes.set_xticks([], minor=True)
    places = [math.log(size) if is_log else size for size in sizes]
    axes.set_xticks(sizes, [f"{size:g}" if at in apart(places) else "" for at, size in enumerate(sizes)])
    axes.set_xlabel(size_label)
    axes.set_ylabel("GFLOP/s (median and 95 % interval)")
    # Above the axes, where no line runs.
    columns = min(len(plot.lines) + bool(plot.peak), 2)
    above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.02), "borderaxespad": 0}
    axes.legend(ncols=columns, fontsize=8, frameon=False, **above)
    return figure


# In inches: the figure, the axes in it, the height of a label.
_WIDTH, _HEIGHT = 7.6, 4.7
_LEFT, _RIGHT, _BOTTOM, _TOP = 0.8, 2.9, 0.95, 0.15
_LABEL_HEIGHT = 0.29
_LONGEST_LABEL = 34
# In inches: how far the names of runs are apart, and a letter of them.
_NAME_APART, _LETTER = 0.15, 0.08


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """An entry: operations for each byte of compulsory traffic, speed, and its share of the roof of its run.

    ``label`` says run and entry where there are several runs; an ``entry`` looks the same in all.
    """

    label: str
    run: str
    entry: str
    intensity: float
    gflops: float
    low: float
    high: float
    of_roof: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """The plot: the flat roof is the FMA peak in registers, the slope a copy (read and written bytes).

    Of several runs the highest roofs are drawn, and each point has its share of those of its own run.
    """

    points: tuple[RooflinePoint, ...]
    peak_gflops: float
    copy_gbytes: float
    element_type: str
    note: str

    @property
    def entries(self) -> Mapping[str, Sequence[RooflinePoint]]:
        """The points of each entry, from the least intensity to the greatest: they share a label."""
        found: dict[str, list[RooflinePoint]] = {p.entry: [] for p in self.points}
        for point in sorted(self.points, key=lambda p: p.intensity):
            found[point.entry].append(point)
        return found

    @property
    def runs(self) -> Mapping[str, float]:
        """The intensity of each named run; empty for a single one without a name."""
        return {p.run: p.intensity for p in self.points if p.run}

    @property
    def ridge(self) -> float:
        """The intensity from which on arithmetic is the limit."""
        return self.peak_gflops / self.copy_gbytes


_ABOVE = 1.05  # Roofs are known to a few per cent.
_NOTE = "Intensity from compulsory traffic: every argument read once, every result written once."


def roofline(comparisons: Comparison | Mapping[str, Comparison]) -> Roofline:
    """Return what to draw."""
    named = {"": comparisons} if isinstance(comparisons, Comparison) else dict(comparisons)
    if not named:
        raise usage_error("there is no comparison to draw")
    first = next(iter(named.values()))
    limits = [_limits(each) for each in named.values()]
    points: list[RooflinePoint] = []
    for (name, each), (peak, copy) in zip(named.items(), limits, strict=True):
        if (each.element_type, each.environment_sha256) != (first.element_type, first.environment_sha256):
            message = f"{each.payload} was measured on another machine or element type than {first.payload}"
            raise usage_error(message, "A roofline has one set of roofs: draw them apart.")
        points += _points(each, name, peak, copy)
    peaks, copies = zip(*limits, strict=True)
    note = f"{_NOTE}\n{_roofs_note(peaks, copies)}"
    if any(p.of_roof > _ABOVE for p in points):
        note += "\nAbove the slope: data that stays in the caches does not wait for copies in memory."
    return Roofline(tuple(points), max(peaks), max(copies), first.element_type or "", note)


def _roofs_note(peaks: Sequence[float], copies: Sequence[float]) -> str:
    """Say in which run the roofs were measured, and how far those of several runs lie apart."""
    if len(peaks) == 1:
        return "Roofs measured on this core in the same run."
    spans = [f"{_span(own)} {unit}" for own, unit in ((peaks, "GFLOP/s"), (copies, "GB/s"))]
    return (
        f"Roofs: the highest of {len(peaks)} runs ({spans[0]}, {spans[1]}); shares are of each run's own roof."
    )


def _limits(comparison: Comparison) -> tuple[float, float]:
    limits = comparison.limits
    peak = limits.peak_gflops(comparison.element_type) if limits else None
    if limits is None or peak is None:
        what = comparison.element_type or "its element types"
        raise usage_error(
            f"the limits of the core for {what} were not measured with {comparison.payload}",
            "There are limits for float32 and float64.",
        )
    return peak, limits.copy_gbytes


def _points(comparison: Comparison, name: str, peak: float, copy: float) -> list[RooflinePoint]:
    if not comparison.flops or not comparison.bytes:
        missing = "operations" if not comparison.flops else "bytes"
        raise usage_error(f"the {missing} of {comparison.payload} cannot be counted")
    intensity = comparison.flops / comparison.bytes
    roof = min(peak, copy * intensity)
    found = []
    for entry, rate in _gflops(comparison, comparison.flops).items():
        label, (middle, low, high) = f"{name}: {entry}" if name else entry, (rate.middle, rate.low, rate.high)
        found.append(RooflinePoint(label, name, entry, intensity, middle, low, high, middle / roof))
    return found


def roofline_table(plot: Roofline) -> Table:
    """Return a roofline as a table, a row an entry."""
    rows = tuple((p.label, f"{p.intensity:.3g}", *_rates(p), format_share(p.of_roof)) for p in plot.points)
    return Table(("", "operations a byte", "GFLOP/s", "95 % interval", "of the roof"), rows)


def label_places(plot: Roofline) -> tuple[float, ...]:
    """Return the height of each entry's label in GFLOP/s: beside its last point, apart from the others.

    They are moved down, as the line up to a label would cross the roof; up only where there is no room below.
    """
    low, high = (math.log10(end) for end in speed_range(plot))
    wanted = [math.log10(points[-1].gflops) for points in plot.entries.values()]
    least = _LABEL_HEIGHT * (high - low) / _inner_height(plot)
    below, places = high - least / 2, dict[int, float]()
    for at in sorted(range(len(wanted)), key=lambda at: -wanted[at]):
        places[at] = min(wanted[at], below)
        below = places[at] - least
    moved = spaced([places[at] for at in range(len(wanted))], least, (low + least / 2, high - least / 2))
    return tuple(10**y for y in moved)


def _inner_height(plot: Roofline) -> float:
    """Return the height of the axes in inches: all labels have room beside them."""
    return max(_HEIGHT - _BOTTOM - _TOP, _LABEL_HEIGHT * len(plot.entries))


def run_places(plot: Roofline, inside: float = _WIDTH - _LEFT - _RIGHT) -> dict[str, float]:
    """Return the intensity above which each run is named: its own, moved apart where they crowd.

    ``inside`` is the width of the axes in inches.
    """
    low, high = (math.log10(end) for end in intensity_range(plot))
    least = _NAME_APART * (high - low) / inside
    places = spaced([math.log10(x) for x in plot.runs.values()], least, (low, high))
    return {name: 10**x for name, x in zip(plot.runs, places, strict=True)}


def speed_range(plot: Roofline) -> tuple[float, float]:
    """Return the ends of the axis of speeds in GFLOP/s."""
    low = min([p.low for p in plot.points] + [plot.peak_gflops / 100])
    high = max([p.high for p in plot.points] + [plot.peak_gflops])
    return low / 2, high * 2.5


def intensity_range(plot: Roofline) -> tuple[float, float]:
    """Return the ends of the axis of intensities in FLOP/byte; the ridge is always between them."""
    all_of_them = [p.intensity for p in plot.points] + [plot.ridge]
    return min(all_of_them) / 5, max(all_of_them) * 5


def draw_roofline(comparisons: Comparison | Mapping[str, Comparison]) -> Figure:
    """Return a figure: the roofs, a point per entry and run with its 95 % interval, and shares of the roof."""
    plot = roofline(comparisons)
    return with_narrow(_roofline_figure(plot), _roofline_figure(plot, is_narrow=True))


def _roofline_figure(plot: Roofline, *, is_narrow: bool = False) -> Figure:
    """Return the figure of a roofline; a narrow one has its labels below the axes."""
    from matplotlib.figure import Figure

    inner = _HEIGHT - _BOTTOM - _TOP if is_narrow else _inner_height(plot)
    note = [part for line in plot.note.split("\n") for part in textwrap.wrap(line, 78 if is_narrow else 200)]
    below = _LABEL_HEIGHT * (len(plot.entries) + 0.5) + 0.12 * (len(note) - 3) if is_narrow else 0.0
    names = _LETTER * max((len(cut(name, _LONGEST_LABEL)) for name in plot.runs), default=0)
    width, bottom = (NARROW if is_narrow else _WIDTH), _BOTTOM + below
    inside = width - _LEFT - (0.2 if is_narrow else _RIGHT)
    whole = bottom + inner + _TOP + names
    figure = Figure(figsize=(width, whole))
    figure.patch.set_alpha(0)
    axes = figure.add_axes((_LEFT / width, bottom / whole, inside / width, inner / whole))
    axes.patch.set_alpha(0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*intensity_range(plot))
    axes.set_ylim(*speed_range(plot))
    _draw_roofs(axes, plot, inner / inside)
    _draw_points(axes, plot, below=_LABEL_HEIGHT / inner if is_narrow else None)
    _name_runs(axes, plot, inside)
    axes.set_xlabel("arithmetic intensity in FLOP/byte")
    axes.set_ylabel("GFLOP/s (median and 95 % interval)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.text(0.1 / width, 0.1 / whole, "\n".join(note), fontsize=8 if is_narrow else 7.5, color=FAINT)
    return figure


def _draw_roofs(axes: Axes, plot: Roofline, aspect: float) -> None:
    (left, right), (low, high), ridge = intensity_range(plot), speed_range(plot), plot.ridge
    axes.plot([left, ridge], [left * plot.copy_gbytes, plot.peak_gflops], color=GREY, linewidth=2)
    axes.plot([ridge, right], [plot.peak_gflops] * 2, color=GREY, linewidth=2)
    # Left of the ridge there is never a point above the slope: the label of the flat roof is there.
    axes.plot([left, ridge], [plot.peak_gflops] * 2, color=GREY, linewidth=0.8, linestyle=":")
    peak = f"FMA peak, {plot.element_type}: {plot.peak_gflops:.3g} GFLOP/s"
    above: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": FAINT}
    axes.annotate(peak, (left, plot.peak_gflops), xytext=(4, 4), **above)
    # Above the slope and as steep, in the widest gap that the intensities leave on what is seen of it.
    start = max(left, low / plot.copy_gbytes)
    stops = [start, *sorted(x for p in plot.points if start < (x := p.intensity) < ridge), ridge]
    before, after = max(itertools.pairwise(stops), key=lambda gap: gap[1] / gap[0])
    middle = math.sqrt(before * after)
    turn = math.degrees(math.atan(aspect / math.log10(high / low) * math.log10(right / left)))
    turned: dict[str, Any] = {"rotation": turn, "rotation_mode": "anchor", "ha": "center"}
    place = (middle, middle * plot.copy_gbytes)
    axes.annotate(f"copy: {plot.copy_gbytes:.3g} GB/s", place, xytext=(-5, 5), **turned, **above)


def _draw_points(axes: Axes, plot: Roofline, *, below: float | None) -> None:
    """Draw the points of each entry and its label: at the right, or ``below``, so high in the axes' height."""
    left, right = intensity_range(plot)
    looks = entry_looks(p.entry for p in plot.points)
    beyond = right * (right / left) ** 0.025  # right of the axes: in them a marker is a measurement
    rows = zip(plot.entries.items(), label_places(plot), strict=True)
    for number, ((entry, points), height) in enumerate(rows):
        look = looks[entry]
        for p in points:
            spread = [[p.gflops - p.low], [p.high - p.gflops]]
            axes.errorbar(p.intensity, p.gflops, yerr=spread, markersize=7, capsize=4, zorder=3, **look.style)
        said = f"{cut(entry, _LONGEST_LABEL)}\n{_reached(points)}"
        beside: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False, "va": "center"}
        beside |= {"xytext": (8, 0), "fontsize": 8, "linespacing": 1.15}
        if below is not None:
            line = [p.intensity for p in points], [p.gflops for p in points]
            axes.plot(*line, color=look.color, linestyle=look.line, linewidth=0.7, alpha=0.7, zorder=2)
            under: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
            y = -(_BOTTOM / _LABEL_HEIGHT - 1.0 + number) * below
            axes.plot([0.0], [y], markersize=5, **under, **look.style)
            axes.annotate(said, (0.0, y), xycoords="axes fraction", **beside)
            continue
        lead = [*(p.intensity for p in points), right, beyond], [*(p.gflops for p in points), height, height]
        thin: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.7, "clip_on": False, "zorder": 2}
        axes.plot(*lead, color=look.color, linestyle=look.line, **thin)
        axes.annotate(said, (beyond, height), **beside)
        axes.plot([beyond], [height], markersize=5, clip_on=False, **look.style)


def _reached(points: Sequence[RooflinePoint]) -> str:
    """Return the speed and the share of the roof of an entry, from the least to the most of its runs."""
    shares = [p.of_roof for p in points]
    ends = dict.fromkeys(format_share(share).removesuffix(" %") for share in (min(shares), max(shares)))
    return f"{_span([p.gflops for p in points])} GFLOP/s, {' – '.join(ends)} % of the roof"


def _span(numbers: Sequence[float]) -> str:
    """Return the least and the greatest of some numbers; one that both are read as only once."""
    return " – ".join(dict.fromkeys(f"{number:.3g}" for number in (min(numbers), max(numbers))))


def _name_runs(axes: Axes, plot: Roofline, inside: float) -> None:
    """Write the names of several runs above the axes, each with a line down to its points."""
    top = axes.get_ylim()[1]
    for name, place in run_places(plot, inside).items():
        x = plot.runs[name]
        axes.axvline(x, color=GREY, linewidth=0.5, linestyle=":", zorder=1)
        lead = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5}
        turned: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "annotation_clip": False}
        axes.annotate(
            cut(name, _LONGEST_LABEL), (x, top), (place, top * 1.25), fontsize=8, arrowprops=lead, **turned
        )
