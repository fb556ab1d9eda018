"""Course of a sweep: best time after each variant, and counts of outcomes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lhkit.draw.figures import new_axes
from lhkit.draw.tables import format_ns
from lhkit.draw.theme import BLUE, GREY, VERMILION
from lhkit.sweeps.sweep_heat import MARKS
from lhkit.sweeps.sweep_summary import FAILED, best_so_far, count_statuses
from lhkit.sweeps.variant_record import SweepRecord, SweepStatus, originals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABEL_WIDTH = 60
# Between powers of ten.
_MARKED = (2, 3, 5, 20, 30, 50)


@dataclass(frozen=True, slots=True)
class History:
    """The plot of the course of a sweep; times are multiples of the final best.

    Attributes:
        best: The best so far after each variant, as (variants tried, multiple), from the first that was timed.
        timed: Variants, as (number, multiple).
        failed: Numbers of the variants that failed.
        best_ns: The best in the end, or None.
        seconds: How long it took from the first variant to the start of the last.
    """

    best: tuple[tuple[int, float], ...]
    timed: tuple[tuple[int, float], ...]
    failed: tuple[int, ...]
    best_ns: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class StatusBar:
    """One bar: a status, its mark, its count, and the most frequent message."""

    status: SweepStatus
    mark: str
    count: int
    text: str
    is_failure: bool


def sweep_history(records: Sequence[SweepRecord]) -> History:
    """Return what to draw of the course of a sweep."""
    steps = best_so_far(records)
    tried = originals(records)
    best_ns = steps[-1].best_ns if steps else None
    least = best_ns or 1
    return History(
        best=tuple((s.tried, s.best_ns / least) for s in steps if s.best_ns is not None),
        timed=tuple((s.tried, s.time_ns / least) for s in steps if s.time_ns is not None),
        failed=tuple(s.tried for s in steps if tried[s.record.key].status in FAILED),
        best_ns=best_ns,
        seconds=steps[-1].seconds if steps else 0.0,
    )


def draw_history(history: History) -> Figure:
    """Return a figure: a dot a variant, a step line for the best so far, marks at the top for failures."""
    figure, axes = new_axes(7.2, 3.2)
    if history.timed:
        numbers, times = zip(*history.timed, strict=True)
        axes.scatter(numbers, times, s=12, color=GREY, label="variants")
        axes.step(*zip(*history.best, strict=True), where="post", color=BLUE, linewidth=2, label="best so far")
        axes.set_yscale("log")
    if history.failed:
        top = axes.get_xaxis_transform()
        axes.scatter(
            history.failed,
            [1.03] * len(history.failed),
            marker="x",
            s=16,
            color=VERMILION,
            transform=top,
            clip_on=False,
            label="failed",
        )
    axes.set_xlabel("variants tried")
    axes.set_ylabel("time, multiple of the best")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if value in _MARKED else "")
    if history.best_ns is not None:
        axes.set_title(f"best: {format_ns(history.best_ns)}", fontsize=9, pad=14)
    if history.timed or history.failed:
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def status_bars(records: Sequence[SweepRecord]) -> tuple[StatusBar, ...]:
    """Return how many variants had each status that occurred, with what most of them said."""
    bars = []
    for found in count_statuses(records):
        said = found.messages[0][0].partition("\n")[0] if found.messages else ""
        mark = MARKS.get(found.status, "")
        text = textwrap.shorten(said, _LABEL_WIDTH, placeholder=" …")
        bars.append(StatusBar(found.status, mark, found.count, text, found.status in FAILED))
    return tuple(bars)


def draw_statuses(bars: Sequence[StatusBar]) -> Figure:
    """Return a figure of the counts, failures hatched, each with its most frequent message."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = new_axes(7.2, 0.8 + 0.5 * max(len(bars), 1))
    for row, bar in enumerate(bars):
        color = VERMILION if bar.is_failure else BLUE
        hatch = "//" if bar.is_failure else None
        axes.barh(row, bar.count, height=0.5, color="none" if hatch else color, edgecolor=color, hatch=hatch)
        axes.text(0, row - 0.36, f"{bar.count}   {bar.text}", fontsize=8, va="center")
    axes.set_yticks(range(len(bars)), [f"{b.status} {b.mark}".strip() for b in bars])
    axes.set_ylim(len(bars) - 0.6, -0.7)
    axes.set_xlim(left=0)
    axes.set_xlabel("variants")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure
