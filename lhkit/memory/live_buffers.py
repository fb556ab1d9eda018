"""Chart of live buffers over the program, with the peak, in matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.draw.tables import format_bytes, format_range
from lhkit.draw.theme import BLUE, GREEN, GREY, SKY, VERMILION
from lhkit.model.memory_footprint import (
    BufferSite,
    Footprint,
    Instruction,
    LoopSpan,
    MemoryProgram,
    Origin,
    Prediction,
    ProgramPoint,
    Range,
    Region,
    between,
    largest,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST_ROWS = 24
_MOST_TICKS = 24
_MOST_DEPTH = 3
_COLORS = {"heap": BLUE, "returned": GREEN, "stack": SKY}
_HATCHES = {"heap": None, "returned": "\\\\", "stack": ".."}
_LEGEND = {
    "heap": "in use",
    "held": "held, not used any more",
    "returned": "returned to the caller",
    "stack": "on the stack",
}


@dataclass(frozen=True, slots=True)
class BufferBar:
    """A row: where a buffer is made, used last, and freed, as program points.

    Attributes:
        last_use: Program point of its last use; the end for what the caller gets.
        held_to: Last program point that does something else while it is held unused; ``last_use`` if none does.
    """

    label: str
    size: str
    kind: str
    first: int
    last_use: int
    held_to: int


@dataclass(frozen=True, slots=True)
class LoopBracket:
    """A loop around program points, at a level from 0 for the outermost, and how often it runs as text."""

    first: int
    last: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class LiveBuffersPlot:
    """The plot of live buffers.

    Attributes:
        folded: What is said of buffers without a row, or "".
        peak: The program point where most live, and the bytes.
    """

    title: str
    bars: tuple[BufferBar, ...]
    folded: str
    brackets: tuple[LoopBracket, ...]
    live_bytes: tuple[int, ...]
    peak: tuple[int, int]
    ticks: tuple[tuple[int, str], ...]


def live_buffers_plot(footprint: Footprint) -> LiveBuffersPlot:
    """Return the plot: the largest buffers have a row each, the others are counted."""
    predicted = footprint.predicted
    chosen = sorted(predicted.sites, key=lambda s: (s.on_stack, -_drawn(s.size_bytes)))[:_MOST_ROWS]
    bars = tuple(_bar(s, predicted) for s in sorted(chosen, key=lambda s: s.first))
    live = tuple(_drawn(p.live_bytes) for p in predicted.points)
    at = max(range(len(live)), key=live.__getitem__, default=0)
    return LiveBuffersPlot(
        title=f"{footprint.kernel}: peak {format_range(predicted.peak_bytes, format_bytes)}",
        bars=bars,
        folded=_folded([s for s in predicted.sites if s not in chosen]),
        brackets=tuple(
            LoopBracket(loop.first, loop.last, loop.depth, f"× {format_range(loop.trips, str)}")
            for loop in predicted.loops
            if loop.depth < _MOST_DEPTH
        ),
        live_bytes=live,
        peak=(at, live[at] if live else 0),
        ticks=_ticks(predicted),
    )


def _drawn(size: Range) -> int:
    """Return the length drawn for a number: its upper bound, if it has one."""
    return size.low if size.high is None else size.high


def _bar(site: BufferSite, predicted: Prediction) -> BufferBar:
    kind = "stack" if site.on_stack else "returned" if site.is_returned else "heap"
    size = format_range(site.size_bytes, format_bytes)
    used = site.last if kind == "returned" else site.last_use
    # Frees follow one another; that is no time in which a buffer is held.
    others = [i for i in range(used + 1, site.last) if predicted.points[i].kind != "free"]
    held_to = max(others, default=used) if kind == "heap" else used
    return BufferBar(site.name, size, kind, site.first, used, held_to)


def _folded(sites: list[BufferSite]) -> str:
    if not sites:
        return ""
    together = sum(_drawn(s.size_bytes) for s in sites)
    return f"and {len(sites)} smaller ones, {format_bytes(together)} if all lived at once"


def _ticks(predicted: Prediction) -> tuple[tuple[int, str], ...]:
    """Return the points that compute or copy, named by their ops; none where there would be too many."""
    named = [(i, p) for i, p in enumerate(predicted.points) if p.kind in ("touch", "copy")]
    if len(named) > _MOST_TICKS:
        return ()
    return tuple((i, "copy" if p.kind == "copy" else p.origin.op.rpartition(".")[2]) for i, p in named)


def draw_live_buffers(footprint: Footprint) -> Figure:
    """Return a figure: bytes that live at each program point above, the buffers and loops below."""
    from matplotlib.figure import Figure

    plot = live_buffers_plot(footprint)
    if not plot.bars:
        return _nothing_to_draw(footprint.kernel)
    rows = len(plot.bars)
    levels = 1 + max((b.level for b in plot.brackets), default=-1)
    heights = (1.5, 0.26 * rows + 0.28 * levels + 0.3)
    figure = Figure(figsize=(8.4, sum(heights) + 1.3), layout="constrained")
    figure.patch.set_alpha(0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=heights)
    for axes in (above, below):
        axes.patch.set_alpha(0)
        axes.spines[["top", "right"]].set_visible(False)
    _draw_curve(above, plot)
    _draw_bars(below, plot)
    _draw_brackets(below, plot)
    below.set_ylim(rows - 0.4, -0.7 - levels)
    figure.legend(loc="outside lower left", frameon=False, fontsize=8, ncols=4)
    above.set_title("\n".join(textwrap.wrap(plot.title, 90)), fontsize=10, loc="left")
    return figure


def _nothing_to_draw(kernel: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 0.6))
    figure.patch.set_alpha(0)
    text = "\n".join(textwrap.wrap(f"{kernel}: no buffers but those of the caller", 100))
    figure.text(0.01, 0.5, text, va="center", fontsize=10)
    return figure


def _draw_curve(axes: Axes, plot: LiveBuffersPlot) -> None:
    count = len(plot.live_bytes)
    edges = [i - 0.5 for i in range(count + 1)]
    if count:
        axes.stairs(plot.live_bytes, edges, fill=True, color=BLUE, alpha=0.25)
        axes.stairs(plot.live_bytes, edges, color=BLUE, linewidth=1.4)
    at, most = plot.peak
    if most:
        axes.plot([at], [most], marker="v", color=VERMILION, markersize=8, linestyle="none")
        is_late = at > count / 2
        axes.annotate(
            f"peak {format_bytes(most)}",
            (at, most),
            xytext=(-8 if is_late else 8, 6),
            textcoords="offset points",
            ha="right" if is_late else "left",
            fontsize=9,
        )
    axes.set_ylim(0, 1.25 * max(most, 1))
    axes.set_yticks([0, most] if most else [0], ["0", format_bytes(most)] if most else ["0"])
    axes.set_ylabel("heap", fontsize=9)


def _draw_bars(axes: Axes, plot: LiveBuffersPlot) -> None:
    shown: set[str] = set()
    for row, bar in enumerate(plot.bars):
        color, hatch = _COLORS[bar.kind], _HATCHES[bar.kind]
        _draw_bar(axes, row, (bar.first, bar.last_use), color, hatch, _once(bar.kind, shown))
        if bar.held_to > bar.last_use:
            _draw_bar(axes, row, (bar.last_use + 1, bar.held_to), "none", "//", _once("held", shown))
        axes.text(bar.held_to + 0.7, row, bar.size, va="center", fontsize=8)
    at = plot.peak[0]
    axes.plot([at, at], [-0.6, len(plot.bars) - 0.4], color=VERMILION, linewidth=1, linestyle="--", zorder=0)
    axes.set_yticks(range(len(plot.bars)), [b.label for b in plot.bars], fontsize=8)
    axes.set_xticks([i for i, _ in plot.ticks], [t for _, t in plot.ticks], rotation=60, ha="right", fontsize=8)
    count = len(plot.live_bytes)
    axes.set_xlim(-0.8, count + 0.12 * count + 0.8)
    axes.set_xlabel(
        "\n".join(filter(None, ["the program, from its beginning to its end", plot.folded])), fontsize=9
    )


def _once(kind: str, shown: set[str]) -> str | None:
    """Return what the legend says of a kind, the first time."""
    if kind in shown:
        return None
    shown.add(kind)
    return _LEGEND[kind]


def _draw_bar(
    axes: Axes, row: int, span: tuple[int, int], color: str, hatch: str | None, label: str | None
) -> None:
    first, last = span
    face = color if hatch is None else "none"
    edge = GREY if color == "none" else color
    axes.barh(
        row,
        last - first + 1,
        left=first - 0.5,
        height=0.62,
        color=face,
        edgecolor=edge,
        hatch=hatch,
        label=label,
    )


def _draw_brackets(axes: Axes, plot: LiveBuffersPlot) -> None:
    levels = 1 + max((b.level for b in plot.brackets), default=-1)
    for bracket in plot.brackets:
        left, right = bracket.first - 0.45, bracket.last + 0.45
        at = -0.8 - (levels - 1 - bracket.level)
        axes.plot([left, left, right, right], [at + 0.25, at, at, at + 0.25], color=GREY, linewidth=1.1)
        axes.text((left + right) / 2, at - 0.08, f"loop {bracket.text}", ha="center", va="bottom", fontsize=7.5)


# Live ranges: the program points where buffers are allocated, used and freed.


_POINTS = ("alloc", "stack", "free", "copy", "touch")
_LOOPS = ("loop", "while")
_NOTHING = Range(0, 0)
_NOWHERE = Origin("", "")

Found = tuple[tuple[BufferSite, ...], tuple[ProgramPoint, ...], tuple[LoopSpan, ...]]


@dataclass(slots=True)
class _Site:
    """An allocation site while the program is interpreted."""

    first: int
    size: Range
    last: int = -1
    last_use: int = -1


class LiveRanges:
    """Program points in the order of the text, and what a run of the program does at them."""

    def __init__(self, program: MemoryProgram) -> None:
        self._origins = program.origins
        self._points: list[Instruction] = []
        self._spans: list[tuple[Instruction, int, int, int]] = []
        self._index: dict[int, int] = {}
        self._live: dict[int, Range] = {}
        self._trips: dict[int, Range] = {}
        self._sites: dict[int, _Site] = {}
        self._site_of: dict[int, int] = {}
        self._uses: dict[int, frozenset[int]] = {}
        # The entry first: what it calls comes after it.
        functions = sorted(program.functions, key=lambda f: f[0] != program.entry)
        for _, region in functions:
            self._lay_out(region, 0)

    def _lay_out(self, region: Region, depth: int) -> None:
        for instruction in region.body:
            if instruction.kind in _POINTS:
                self._index[id(instruction)] = len(self._points)
                self._points.append(instruction)
            first, is_loop, place = len(self._points), instruction.kind in _LOOPS, len(self._spans)
            for inner in instruction.regions:
                self._lay_out(inner, depth + is_loop)
            if is_loop and len(self._points) > first:
                self._spans.insert(place, (instruction, first, len(self._points) - 1, depth))

    def uses(self, region: Region, value: int) -> bool:
        """Return True if something in a region takes a value."""
        if id(region) not in self._uses:
            self._uses[id(region)] = frozenset(_taken(region))
        return value in self._uses[id(region)]

    def allocated(self, instruction: Instruction, number: int, size: Range, live: Range) -> None:
        """Record a new buffer."""
        at = self._index[id(instruction)]
        site = self._sites.setdefault(at, _Site(at, size))
        site.size = between((site.size, size))
        self._site_of[number] = at
        self._note(at, live)

    def freed(self, instruction: Instruction, numbers: frozenset[int], live: Range) -> None:
        """Record that one of several buffers was freed."""
        at = self._index[id(instruction)]
        for site in self._of(numbers):
            site.last = max(site.last, self._end(site.first, at))
        self._note(at, live)

    def used(self, instruction: Instruction, numbers: frozenset[int], live: Range) -> None:
        """Record a use of buffers."""
        at = self._index[id(instruction)]
        for site in self._of(numbers):
            site.last_use = max(site.last_use, self._end_of_use(site.first, at))
        self._note(at, live)

    def looped(self, loop: Instruction, trips: Range) -> None:
        """Record the trip count of a loop."""
        known = self._trips.get(id(loop))
        self._trips[id(loop)] = trips if known is None else between((known, trips))

    def sites_of(self, numbers: frozenset[int]) -> tuple[int, ...]:
        """Return the program points where buffers were made."""
        return tuple(sorted({self._site_of[n] for n in numbers if n in self._site_of}))

    def _of(self, numbers: frozenset[int]) -> Iterator[_Site]:
        return (self._sites[at] for at in self.sites_of(numbers))

    def _end(self, first: int, at: int) -> int:
        """Return where a buffer ends that is freed or used at a point: in a later iteration, the loop's end."""
        if at >= first:
            return at
        ends = [last for _, begin, last, _ in self._spans if begin <= at and first <= last]
        return min(ends, default=first)

    def _end_of_use(self, first: int, at: int) -> int:
        """Return where a use ends: that of a loop ends with the loop, if the buffer is made before it."""
        around = [
            last for _, begin, last, _ in self._spans if begin <= at <= last and not begin <= first <= last
        ]
        return max(around, default=self._end(first, at))

    def _note(self, at: int, live: Range) -> None:
        known = self._live.get(at)
        self._live[at] = live if known is None else largest(known, live)

    def found(self, live: frozenset[int], returned: frozenset[int]) -> Found:
        """Return the allocation sites, program points and loops."""
        end = len(self._points) - 1
        for site in self._of(live):
            site.last = end
        held = set(self.sites_of(returned))
        places = sorted(self._sites)
        names = self._names(places)
        sites = tuple(self._site(at, name, at in held) for at, name in zip(places, names, strict=True))
        points = tuple(
            ProgramPoint(p.kind, self._origin(p), self._live.get(i, _NOTHING))
            for i, p in enumerate(self._points)
        )
        loops = tuple(
            LoopSpan(first, last, depth, self._trips.get(id(loop), _NOTHING), self._origin(loop))
            for loop, first, last, depth in self._spans
        )
        return sites, points, loops

    def _names(self, places: list[int]) -> list[str]:
        """Return a name for each site: that of its value, numbered where several come from one op."""
        given = [self._origin(self._points[at]).name or "buffer" for at in places]
        seen: dict[str, int] = {}
        names = []
        for name in given:
            seen[name] = seen.get(name, 0) + 1
            names.append(name if given.count(name) == 1 else f"{name} ({seen[name]})")
        return names

    def _site(self, at: int, name: str, is_returned: bool) -> BufferSite:
        instruction, site = self._points[at], self._sites[at]
        origin = self._origin(instruction)
        on_stack = instruction.kind == "stack"
        last = len(self._points) - 1 if on_stack or site.last < 0 else site.last
        size = site.size
        return BufferSite(name, origin, on_stack, size, at, last, max(site.last_use, at), is_returned)

    def _origin(self, instruction: Instruction) -> Origin:
        return self._origins[instruction.origin] if instruction.origin >= 0 else _NOWHERE


def _taken(region: Region) -> Iterator[int]:
    yield from region.yields
    for instruction in region.body:
        yield from instruction.operands
        for inner in instruction.regions:
            yield from _taken(inner)
