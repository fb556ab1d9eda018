"""Charts of a sweep: heat maps, history, and counts of outcomes."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lhkit.draw.entry_looks import entry_looks
from lhkit.draw.figures import cut, new_axes
from lhkit.draw.tables import format_ns
from lhkit.draw.theme import BLUE, GREY, VERMILION
from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.sweeps import sweep_summary
from lhkit.sweeps.confirmation import Ahead, ahead_of
from lhkit.sweeps.space import PAYLOAD_AXIS
from lhkit.sweeps.strategies.predicted import Prediction
from lhkit.sweeps.variant_record import FAILED, SWEEP_STATUSES, SweepRecord, SweepStatus, originals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patheffects import AbstractPathEffect

# The mark in the cell of a variant that failed; never colour alone.
MARKS: Mapping[SweepStatus, str] = {
    "invalid-config": "∅",
    "schedule-failed": "✕",
    "unmet-expectation": "≉",
    "compile-failed": "▲",
    "wrong-result": "≠",
    "crashed": "†",
    "timeout": "◔",
    "out-of-memory": "▣",
}
MOST_KNOBS = 3
_MAP = "cividis"
# Cells of larger maps are too small for numbers.
_MOST_PRINTED = 24
_DARK_BELOW = 0.55


@dataclass(frozen=True, slots=True)
class Cell:
    """One variant of a heat map: its time as a multiple of the best, or the mark of its failure.

    ``level`` is its speed on a logarithmic scale from the slowest (0) to the best (1), or None.
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

    ``best_ns`` is None if there is no best variant, or one of each payload; ``framed`` says what a frame means.
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
    framed: str


def heat_map(
    records: Sequence[SweepRecord],
    *,
    values: Mapping[str, Sequence[KnobValue]] | None = None,
    ahead: Ahead | None = None,
) -> HeatMap:
    """Return what to draw of a sweep over at most three knobs, one of which may be the payload."""
    given = values if values is not None else sweep_summary.knob_values(records)
    known = {name: sweep_summary.ordered_values(own) for name, own in given.items()}
    names = [n for n in known if len(known[n]) > 1] or list(known)[:1]
    if len(names) > MOST_KNOBS:
        advice = "Draw parallel coordinates, or choose the records of one value."
        raise usage_error(f"a heat map has two or three knobs, not {len(names)}: {', '.join(names)}", advice)
    # The payload, or else the knob with the fewest values, is the facet.
    names.sort(key=lambda n: (n == PAYLOAD_AXIS, -len(known[n])))
    x, y, by = (*names, *[""] * MOST_KNOBS)[:MOST_KNOBS]
    best, ratios = sweep_summary.best_by_payload(records), sweep_summary.relative_times(records, hopeless=True)
    worst = max(ratios.values(), default=1.0)
    ahead, tried = ahead or ahead_of((), (key for key, _ in best.values())), originals(records)

    def cell(record: SweepRecord) -> Cell:
        row, column = (list(known[name]).index(record.values[name]) if name else 0 for name in (y, x))
        return Cell(row, column, *_shown(record, tried[record.key], ratios, worst), record.key in ahead.keys)

    facets = []
    for value in known[by] if by else (None,):
        cells = tuple(cell(r) for r in records if not by or r.values[by] == value)
        facets.append(Facet(f"{by} = {value}" if by else "", cells))
    shown = {c.status for f in facets for c in f.cells}
    legend = [(mark, str(status)) for status, mark in MARKS.items() if status in shown]
    if any(cell.text[:1] == "≈" for facet in facets for cell in facet.cells):
        legend.append(("≈", "rough: stopped early"))
    places = len(known.get(x, ())) * len(known.get(y, ("",)))
    if any(len({(c.row, c.column) for c in facet.cells}) < places for facet in facets):
        legend.append(("no cell:", "not tried"))
    return HeatMap(
        x_name=x,
        x_values=tuple(map(str, known.get(x, ("",)))),
        y_name=y,
        y_values=tuple(map(str, known.get(y, ("",)))),
        facets=tuple(facets),
        best_ns=next(iter(best.values()))[1] if len(best) == 1 else None,
        worst=worst,
        legend=tuple(legend),
        is_timed=bool(best),
        framed=ahead.words,
    )


def _shown(
    record: SweepRecord, tried: SweepRecord, ratios: Mapping[str, float], worst: float
) -> tuple[SweepStatus, str, float | None]:
    """Return status, text and level of a cell."""
    if record.key not in ratios:  # a program equal to one that failed fails alike
        return tried.status, MARKS.get(tried.status, "?"), None
    ratio = ratios[record.key]
    # A hopeless one was run once: its number is rough.
    text = f"≈{ratio_text(ratio)}" if record.status == "stopped-early" else ratio_text(ratio)
    return record.status, text, min(max(1 - math.log(ratio) / (math.log(worst) or 1.0), 0.0), 1.0)


def ratio_text(ratio: float) -> str:
    """Return a multiple with three digits."""
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
    best = "the least of each payload" if heat.best_ns is None else f"the least, {format_ns(heat.best_ns)}"
    title = f"time as a multiple of {best}, each timed alone\nframed: {heat.framed}"
    figure.suptitle(title if heat.is_timed else "no variant was timed", fontsize=10)
    if heat.legend:
        figure.supxlabel(" · ".join(f"{mark} {words}" for mark, words in heat.legend), fontsize=9)
    return figure


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
            # On a cell of the map, which no theme changes, these are no colours that a theme does.
            ink = "black" if cell.level is None else ("#fdfdfd" if cell.level < _DARK_BELOW else "#101014")
            axes.text(cell.column, cell.row, cell.text, ha="center", va="center", color=ink, fontsize=8)
    for cell in facet.cells:
        if cell.is_framed:
            corner = (cell.column - 0.5, cell.row - 0.5)
            frame = Rectangle(corner, 1, 1, facecolor="none", edgecolor="black", linewidth=2.4, zorder=3)
            frame.set_path_effects(_halo())
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


def _halo() -> list[AbstractPathEffect]:
    """Return an edge in the colour of the paper: ink on it is seen on every colour of the map."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=5.5, foreground="white")]


_LABEL_WIDTH = 60
# Between powers of ten.
_MARKED = (2, 3, 5, 20, 30, 50)


@dataclass(frozen=True, slots=True)
class History:
    """The course of a sweep, as (variants tried, time as a multiple of the least one of the payload).

    ``best`` has a line for each payload, by its name (``""`` for a single one); ``early`` holds the rough times
    of those that were stopped early, and ``failed`` those that were tried and failed, neither their equals that
    never ran; ``best_ns`` is None of several payloads.
    """

    best: Mapping[str, tuple[tuple[int, float], ...]]
    timed: tuple[tuple[int, float], ...]
    early: tuple[tuple[int, float], ...]
    failed: tuple[int, ...]
    best_ns: int | None


@dataclass(frozen=True, slots=True)
class StatusBar:
    """One bar: a status, its count, and the most frequent message."""

    status: SweepStatus
    count: int
    text: str


def sweep_history(records: Sequence[SweepRecord]) -> History:
    """Return what to draw of the course of a sweep, in the order in which variants were started."""
    ratios, least = sweep_summary.relative_times(records), sweep_summary.best_by_payload(records)
    rough = sweep_summary.relative_times(records, hopeless=True)
    ordered = list(enumerate(sorted(records, key=lambda r: r.started), 1))
    so_far: dict[str, list[tuple[int, float]]] = {}
    for i, record in ordered:
        own = so_far.setdefault(str(record.values.get(PAYLOAD_AXIS, "")), [])
        ratio = ratios.get(record.key, math.inf)
        if own or ratio < math.inf:
            own.append((i, min(ratio, own[-1][1]) if own else ratio))
    return History(
        best={payload: tuple(line) for payload, line in so_far.items() if line},
        timed=tuple((i, ratios[r.key]) for i, r in ordered if r.key in ratios),
        early=tuple((i, rough[r.key]) for i, r in ordered if r.status == "stopped-early" and r.key in rough),
        failed=tuple(i for i, r in ordered if r.status in FAILED),
        best_ns=next(iter(least.values()))[1] if len(least) == 1 else None,
    )


def draw_history(history: History) -> Figure:
    """Return a figure: a dot a variant, a step line a payload for the best so far, crosses for failures."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_axes(7.2, 3.2)
    if history.timed:
        numbers, times = zip(*history.timed, strict=True)
        axes.scatter(numbers, times, s=12, color=GREY, label="variants")
        if history.early:
            words = f"stopped early, rough ({len(history.early)})"
            numbers, times = zip(*history.early, strict=True)
            axes.scatter(numbers, times, s=14, facecolor="none", edgecolor=GREY, label=words)
        looks = entry_looks(history.best)
        for payload, line in history.best.items():
            named = cut(payload, 24)
            words = f"best so far, {named}" if payload else "best so far"
            look = looks[payload]
            how: dict[str, Any] = {"linestyle": look.line, "markevery": [-1], **look.style}
            axes.step(*zip(*line, strict=True), where="post", linewidth=2, label=words, **how)
        axes.set_yscale("log")
    if history.failed:
        heights, top = [1.03] * len(history.failed), axes.get_xaxis_transform()
        words = f"failed ({len(history.failed)})"
        crosses: dict[str, Any] = {"marker": "x", "s": 16, "color": VERMILION, "label": words}
        axes.scatter(history.failed, heights, transform=top, clip_on=False, **crosses)
    placed = itertools.chain(history.timed, history.early, *history.best.values())
    axes.set_xlim(0, 1.02 * max((*(i for i, _ in placed), *history.failed), default=1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("variants tried")
    axes.set_ylabel("time, multiple of the least")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if value in _MARKED else "")
    least = "1 is the least time of each payload" if len(history.best) > 1 else ""
    if history.best_ns is not None:
        least = f"1 is {format_ns(history.best_ns)}, the least time"
    if not history.timed:
        axes.set_yticks([])
        least = "no variant was timed"
    axes.set_title(least or " ", fontsize=9, pad=14)  # room for the crosses, also where nothing is said
    if history.timed or history.failed:
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


# What the status says already, and the place: the reason comes after them.
_NO_REASON = re.compile(r"^.* does not apply to [^:]*: (?:[^:]*:\d+:\d+: )?")
_FOLDERS = re.compile(r"(?<!\S)(?:[A-Za-z]:)?[/\\](?:[^\s:/\\]+[/\\])+")


def status_bars(records: Sequence[SweepRecord]) -> tuple[StatusBar, ...]:
    """Return how many variants had each status that occurred, with their most frequent message."""
    bars = []
    for status in SWEEP_STATUSES:
        own = [r for r in records if r.status == status]
        if not own:
            continue
        said = Counter(r.message for r in own if r.message).most_common(1)
        line = said[0][0].partition("\n")[0] if said else ""
        text = cut(_FOLDERS.sub("", _NO_REASON.sub("", line)), _LABEL_WIDTH)
        bars.append(StatusBar(status, len(own), text))
    return tuple(bars)


def draw_statuses(bars: Sequence[StatusBar]) -> Figure:
    """Return a figure of the counts, failures hatched, each with its most frequent message."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_axes(7.2, 0.8 + 0.5 * max(len(bars), 1))
    for row, bar in enumerate(bars):
        edge, color, hatch = (VERMILION, "none", "//") if bar.status in FAILED else (BLUE, BLUE, None)
        axes.barh(row, bar.count, height=0.5, color=color, edgecolor=edge, hatch=hatch)
        said = f"{bar.count}   {bar.text}"
        axes.annotate(said, (0, row - 0.36), (4, 0), textcoords="offset points", fontsize=8, va="center")
    axes.set_yticks(range(len(bars)), [f"{b.status} {MARKS.get(b.status, '')}".strip() for b in bars])
    axes.set_ylim(len(bars) - 0.6, -0.7)
    axes.set_xlim(left=0)
    axes.set_xlabel("variants" if bars else "no variant was tried")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def draw_prediction(prediction: Prediction | None) -> Figure:
    """Return a figure: the time of each variant against what the cost model says without having seen it.

    Raises:
        UsageError: There is no prediction.
    """
    if prediction is None:
        advice = "Sweep with strategy='predicted', and at least ten variants."
        raise usage_error("the sweep has no cost model", advice)
    figure, axes = new_axes(4.6, 4.2)
    guessed = [ns / 1e3 for _, ns, _ in prediction.pairs]
    measured = [ns / 1e3 for _, _, ns in prediction.pairs]
    ends = (min(*guessed, *measured), max(*guessed, *measured))
    axes.plot(ends, ends, color=GREY, linewidth=1, label="as predicted")
    axes.scatter(measured, guessed, s=16, color=BLUE, label="variants")
    best = measured.index(min(measured))
    alone: dict[str, Any] = {"color": VERMILION, "label": "fastest when timed alone"}
    axes.scatter(measured[best], guessed[best], s=60, marker="D", **alone)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for each in (axes.xaxis, axes.yaxis):
        each.set_major_formatter(lambda value, _: f"{value:g}")
        # Every minor tick would hide its neighbours.
        each.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    axes.set_xlabel("measured, µs")
    axes.set_ylabel("predicted unseen, µs")
    believed = prediction.rank_correlation
    words = "not known" if believed is None else f"{believed:.2f}"
    axes.set_title(f"rank correlation {words}", fontsize=9)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
