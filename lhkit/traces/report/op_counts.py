"""Number of payload ops per dialect or name after every step."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lhkit.draw.figures import NARROW, cut, new_axes, with_narrow
from lhkit.draw.tables import Table
from lhkit.draw.theme import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from lhkit.model.errors import usage_error
from lhkit.model.trace_record import PayloadOp, Trace
from lhkit.traces.record.placed_ops import omitted_ops

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

By = Literal["dialect", "name"]
REST = "all others"
# Marks and dashes distinguish lines without colour.
_LOOKS = (
    (BLUE, "o", "-"),
    (ORANGE, "s", "--"),
    (GREEN, "^", "-."),
    (VERMILION, "D", ":"),
    (SKY, "v", "-"),
    (PURPLE, "P", "--"),
)
_FEW_STEPS, _IN_LEGEND = 24, 30
_LINEAR_UNTIL = 100


@dataclass(frozen=True, slots=True)
class OpCounts:
    """Op counts, one per kind and step; step -1 is the payload as given."""

    by: By
    steps: tuple[int, ...]
    lines: tuple[tuple[str, tuple[int, ...]], ...]
    failed_step: int | None


def op_counts(trace: Trace, *, by: By = "dialect", most: int = 6) -> OpCounts:
    """Return how many ops of each kind the payload has before the first step and after each that ran.

    Ops count that the printed text shows. The kinds with the fewest ops share the last of ``most`` lines.

    Raises:
        UsageError: ``by`` is unknown, or ``most`` is not from 2 to 6.
    """
    if by not in ("dialect", "name"):
        raise usage_error(f"ops are counted by dialect or by name, not by {by!r}")
    if not 2 <= most <= len(_LOOKS):
        raise usage_error(f"{most} lines cannot be told apart", f"Ask for 2 to {len(_LOOKS)}.")
    steps = (-1, *(s.index for s in trace.steps_by_end() if s.status != "not-run"))
    place = {step: i for i, step in enumerate(steps)}
    changes: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def add(op: PayloadOp, step: int, count: int) -> None:
        changes[op.name.partition(".")[0] if by == "dialect" else op.name][place.get(step, 0)] += count

    for op in trace.op_records:
        add(op, op.born, 1)
        if op.died is not None and op.died in place:
            add(op, op.died, -1)
    hidden = frozenset[str]()
    for step, omitted in omitted_ops(trace).items():
        for each in omitted ^ hidden:
            add(trace.op(each), step, -1 if each in omitted else 1)
        hidden = omitted
    counted = (
        (kind, tuple(itertools.accumulate(change[at] for at in range(len(steps)))))
        for kind, change in changes.items()
    )
    lines = [line for line in counted if any(line[1])]
    lines.sort(key=lambda line: (-max(line[1]), line[0]))
    if len(lines) > most:
        rest = tuple(map(sum, zip(*(counts for _, counts in lines[most - 1 :]), strict=True)))
        lines = [*lines[: most - 1], (REST, rest)]
    return OpCounts(by, steps, tuple(lines), trace.outcome.failed_step)


def op_counts_table(trace: Trace, *, by: By = "dialect", most: int = 6) -> Table:
    """Return op counts as a table, one row per step; arguments as of `op_counts`."""
    plot = op_counts(trace, by=by, most=most)
    rows = tuple(
        ("before" if step < 0 else f"step {step}", *(str(counts[at]) for _, counts in plot.lines))
        for at, step in enumerate(plot.steps)
    )
    return Table(("after", *(kind for kind, _ in plot.lines)), rows)


def draw_op_counts(trace: Trace, *, by: By = "dialect", most: int = 6) -> Figure:
    """Return a figure of op counts after every step; arguments as of `op_counts`.

    The legend is beside the axes, in a narrow column below them.
    """
    plot = op_counts(trace, by=by, most=most)
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.02, 1), "borderaxespad": 0}
    look: dict[str, Any] = {"frameon": False, "title": "at the end", "alignment": "left"}
    (wide, axes), (narrow, narrow_axes) = new_axes(7.2, 3.6), new_axes(NARROW, 4.4)
    for each, ticks in ((axes, 12), (narrow_axes, 6)):
        _draw_lines(each, plot, most_ticks=ticks)
        _draw_scale(each, plot)
    if plot.lines:
        axes.legend(**look, **beside)
        narrow.legend(**look, loc="outside lower left", ncols=2, fontsize=8.5)
    return with_narrow(wide, narrow)


def _draw_lines(axes: Axes, plot: OpCounts, *, most_ticks: int) -> None:
    from matplotlib.ticker import MaxNLocator

    places = range(len(plot.steps))
    marked = [*places[:: max(1, len(places) // _FEW_STEPS)], *places[-1:]]  # the end is what the legend counts
    ticks = ["before" if s < 0 else str(s) for s in plot.steps]
    for row, ((kind, counts), (color, marker, dashes)) in enumerate(zip(plot.lines, _LOOKS, strict=False)):
        look: dict[str, Any] = {"color": GREY if kind == REST else color, "marker": marker, "linestyle": dashes}
        # A line that later ones lie on is wider than they are, and so it is seen around them.
        wider = len(plot.lines) - 1 - row
        look |= {"markersize": 4 + 0.9 * wider, "linewidth": 1.4 + 0.4 * wider}
        look |= {"markevery": marked}
        label = f"{cut(kind, _IN_LEGEND)}: {counts[-1]:,}" if counts else kind
        axes.plot(places, counts, label=label, drawstyle="steps-mid", **look)
    if plot.failed_step in plot.steps:
        at = plot.steps.index(plot.failed_step)
        axes.axvline(at, color=VERMILION, linewidth=1.2)
        words = f"step {plot.failed_step} failed "
        axes.text(at, 0.98, words, transform=axes.get_xaxis_transform(), ha="right", va="top", color=VERMILION)
    if len(plot.steps) <= _FEW_STEPS:
        axes.set_xticks(places, ticks)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(most_ticks, integer=True))
        axes.xaxis.set_major_formatter(lambda x, _: ticks[int(x)] if 0 <= x < len(ticks) else "")
    is_nested = any(a > b for a, b in itertools.pairwise(plot.steps))
    axes.set_xlabel("after step (what is inside of a step ends before it)" if is_nested else "after step")


def _draw_scale(axes: Axes, plot: OpCounts) -> None:
    from matplotlib.ticker import MaxNLocator

    most = max((n for _, counts in plot.lines for n in counts), default=1)
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
    if most > _LINEAR_UNTIL:  # unrolled code would press all other lines onto the axis
        axes.set_yscale("symlog", linthresh=10)
        powers = range(1, len(str(most)) + 1)
        ticks_up = [0, 5, *(n * 10**p for p in powers for n in (1, 2, 5) if n * 10**p <= most)]
        axes.set_yticks(ticks_up, [f"{n:,}" for n in ticks_up])
    axes.set_ylim(0, 1.12 * most)
    scale = "\n(logarithmic above 10)" if most > _LINEAR_UNTIL else ""
    axes.set_ylabel(f"ops in the text, by {plot.by}{scale}")
