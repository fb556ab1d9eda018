"""Chart of live buffers over the program, with the peak, in matplotlib."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
_STYLES: dict[str, dict[str, Any]] = {
    "heap": {"color": BLUE, "edgecolor": BLUE},
    "held": {"color": "none", "edgecolor": GREY, "hatch": "//"},
    "returned": {"color": "none", "edgecolor": GREEN, "hatch": "\\\\"},
    "stack": {"color": "none", "edgecolor": SKY, "hatch": ".."},
}
_LEGEND = {
    "heap": "on the heap, in use",
    "held": "held, not used any more",
    "returned": "returned to the caller",
    "stack": "on the stack, not in the curve",
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


def buffer_bars(predicted: Prediction) -> tuple[list[BufferBar], str]:
    """Return a row for each of the largest buffers, and what is said of the others, or ""."""
    largest_first = sorted(predicted.sites, key=lambda s: (s.on_stack, -_drawn(s.size_bytes)))
    chosen, others = largest_first[:_MOST_ROWS], largest_first[_MOST_ROWS:]
    together = format_bytes(sum(_drawn(s.size_bytes) for s in others))
    folded = f"and {len(others)} smaller ones, {together} if all lived at once" if others else ""
    return [_bar(s, predicted) for s in sorted(chosen, key=lambda s: s.first)], folded


def find_peak(points: Sequence[ProgramPoint]) -> tuple[int, int]:
    """Return the program point where most live, and the bytes."""
    live = [_drawn(p.live_bytes) for p in points]
    return max(enumerate(live), key=lambda point: point[1], default=(0, 0))


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


def draw_live_buffers(footprint: Footprint) -> Figure:
    """Return a figure: bytes that live at each program point above, the buffers and loops below."""
    from matplotlib.figure import Figure

    predicted = footprint.predicted
    if not predicted.sites:
        figure = Figure(figsize=(8.4, 0.6))
        figure.patch.set_alpha(0)
        text = "\n".join(textwrap.wrap(f"{footprint.kernel}: no buffers but those of the caller", 100))
        figure.text(0.01, 0.5, text, va="center", fontsize=10)
        return figure
    bars, folded = buffer_bars(predicted)
    loops = [loop for loop in predicted.loops if loop.depth < _MOST_DEPTH]
    levels = 1 + max((loop.depth for loop in loops), default=-1)
    heights = (1.5, 0.26 * len(bars) + 0.28 * levels + 0.3)
    figure = Figure(figsize=(8.4, sum(heights) + 1.3), layout="constrained")
    figure.patch.set_alpha(0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=heights)
    for axes in (above, below):
        axes.patch.set_alpha(0)
        axes.spines[["top", "right"]].set_visible(False)
    _draw_curve(above, predicted.points)
    _draw_bars(below, bars)
    peak, most = find_peak(predicted.points)
    if most:
        ends = [-0.6, len(bars) - 0.4]
        below.plot([peak, peak], ends, color=VERMILION, linewidth=1, linestyle="--", zorder=0)
    _draw_ticks(below, predicted.points)
    count = len(predicted.points)
    below.set_xlim(-0.8, count + 0.12 * count + 0.8)
    below.set_xlabel(f"the program, from its beginning to its end\n{folded}".rstrip(), fontsize=9)
    for loop in loops:
        _draw_bracket(below, loop, -0.8 - (levels - 1 - loop.depth))
    below.set_ylim(len(bars) - 0.4, -0.7 - levels)
    figure.legend(loc="outside lower left", frameon=False, fontsize=8, ncols=4)
    peak_words = f"peak {format_range(predicted.peak_bytes, format_bytes)}"
    title = f"{footprint.kernel}: {peak_words if most else 'nothing on the heap'}"
    above.set_title("\n".join(textwrap.wrap(title, 90)), fontsize=10, loc="left")
    return figure


def _draw_curve(axes: Axes, points: Sequence[ProgramPoint]) -> None:
    live = [_drawn(p.live_bytes) for p in points]
    edges = [i - 0.5 for i in range(len(live) + 1)]
    axes.stairs(live, edges, fill=True, color=BLUE, alpha=0.25)
    axes.stairs(live, edges, color=BLUE, linewidth=1.4)
    at, most = find_peak(points)
    if most:
        axes.plot([at], [most], marker="v", color=VERMILION, markersize=8, linestyle="none")
        is_late = at > len(live) / 2
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


def _draw_bars(axes: Axes, bars: Sequence[BufferBar]) -> None:
    legend = dict(_LEGEND)  # of each kind the first bar is labelled

    def draw(kind: str, row: int, first: int, last: int) -> None:
        style = _STYLES[kind] | {"label": legend.pop(kind, None)}
        axes.barh(row, last - first + 1, left=first - 0.5, height=0.62, **style)

    for row, bar in enumerate(bars):
        draw(bar.kind, row, bar.first, bar.last_use)
        if bar.held_to > bar.last_use:
            draw("held", row, bar.last_use + 1, bar.held_to)
        axes.text(bar.held_to + 0.7, row, bar.size, va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [b.label for b in bars], fontsize=8)


def _draw_ticks(axes: Axes, points: Sequence[ProgramPoint]) -> None:
    """Name the points that compute or copy by their ops; none where there would be too many."""
    ticks = {
        i: "copy" if p.kind == "copy" else p.origin.op.rpartition(".")[2]
        for i, p in enumerate(points)
        if p.kind in ("touch", "copy")
    }
    if len(ticks) > _MOST_TICKS:
        ticks = {}
    axes.set_xticks(list(ticks), list(ticks.values()), rotation=60, ha="right", fontsize=8)


def _draw_bracket(axes: Axes, loop: LoopSpan, at: float) -> None:
    left, right = loop.first - 0.45, loop.last + 0.45
    axes.plot([left, left, right, right], [at + 0.25, at, at, at + 0.25], color=GREY, linewidth=1.1)
    text = f"loop × {format_range(loop.trips, str)}"
    axes.text((left + right) / 2, at - 0.08, text, ha="center", va="bottom", fontsize=7.5)


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
        # The entry first: what it calls comes after it.
        for _, region in sorted(program.functions, key=lambda f: f[0] != program.entry):
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

    def allocated(self, instruction: Instruction, number: int, size: Range, live: Range) -> None:
        """Record a new buffer."""
        at = self._note(instruction, live)
        site = self._sites.setdefault(at, _Site(at, size))
        site.size = between((site.size, size))
        self._site_of[number] = at

    def freed(self, instruction: Instruction, numbers: frozenset[int], live: Range) -> None:
        """Record that one of several buffers was freed."""
        at = self._note(instruction, live)
        for site in self._of(numbers):
            site.last = max(site.last, self._end(site.first, at))

    def used(self, instruction: Instruction, numbers: frozenset[int], live: Range) -> None:
        """Record a use of buffers."""
        at = self._note(instruction, live)
        for site in self._of(numbers):
            site.last_use = max(site.last_use, self._end_of_use(site.first, at))

    def looped(self, loop: Instruction, trips: Range) -> None:
        """Record the trip count of a loop."""
        self._trips[id(loop)] = between((self._trips.get(id(loop), trips), trips))

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

    def _note(self, instruction: Instruction, live: Range) -> int:
        """Record the bytes that live after an instruction; return its program point."""
        at = self._index[id(instruction)]
        self._live[at] = largest(self._live.get(at, _NOTHING), live)
        return at

    def found(self, live: frozenset[int], returned: frozenset[int]) -> Found:
        """Return the allocation sites, program points and loops."""
        end = len(self._points) - 1
        for site in self._of(live):
            site.last = end
        held = self.sites_of(returned)
        # A site has the name of its value, numbered where several come from one op.
        names = {at: self._origin(self._points[at]).name or "buffer" for at in sorted(self._sites)}
        total, seen = Counter(names.values()), Counter[str]()
        sites = []
        for at, name in names.items():
            site, instruction = self._sites[at], self._points[at]
            seen[name] += 1
            on_stack = instruction.kind == "stack"
            sites.append(
                BufferSite(
                    name=name if total[name] == 1 else f"{name} ({seen[name]})",
                    origin=self._origin(instruction),
                    on_stack=on_stack,
                    size_bytes=site.size,
                    first=at,
                    last=end if on_stack or site.last < 0 else site.last,
                    last_use=max(site.last_use, at),
                    is_returned=at in held,
                )
            )
        points = tuple(
            ProgramPoint(p.kind, self._origin(p), self._live.get(i, _NOTHING))
            for i, p in enumerate(self._points)
        )
        loops = tuple(
            LoopSpan(first, last, depth, self._trips.get(id(loop), _NOTHING), self._origin(loop))
            for loop, first, last, depth in self._spans
        )
        return tuple(sites), points, loops

    def _origin(self, instruction: Instruction) -> Origin:
        return self._origins[instruction.origin] if instruction.origin >= 0 else _NOWHERE
