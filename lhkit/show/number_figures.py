"""Plots: speed bars, rooflines, throughput, op counts, live buffers and sweeps, with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lhkit.bench.speed_charts import (
    draw_roofline,
    draw_speed_bars,
    draw_throughput,
    roofline_table,
    throughput_plot,
    throughput_table,
)
from lhkit.bench.speed_charts import roofline as roofline_record
from lhkit.draw.live_view import Drawing, figure_drawing
from lhkit.draw.tables import comparison_table, table_text
from lhkit.memory.kernel_memory import footprint_text
from lhkit.memory.live_buffers import draw_live_buffers
from lhkit.model.errors import public, usage_error
from lhkit.model.measurement import Comparison
from lhkit.model.trace_record import Trace
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.sweep_table import SWEEP_FIGURES, SweepFigure, sweep_text
from lhkit.traces.report.op_counts import By, draw_op_counts, op_counts_table

if TYPE_CHECKING:
    from lhkit.kernels.kernel import Kernel
    from lhkit.sweeps.live_sweep import Sweep


@public
def speed(comparison: Comparison) -> Drawing:
    """Return how fast each entry is, as bars with 95 % intervals and shares of the core's limits.

    Args:
        comparison: The comparison.
    """
    return figure_drawing(
        "speed", "Speed", draw_speed_bars(comparison), table_text(comparison_table(comparison))
    )


@public
def roofline(comparisons: Comparison | Mapping[str, Comparison]) -> Drawing:
    """Return speed against arithmetic intensity, below what the core can compute and copy.

    Args:
        comparisons: One, or several by name, of one element type and one machine.

    Raises:
        UsageError: They differ in type or machine, or operations, bytes or limits are not known.
    """
    figure = draw_roofline(comparisons)
    return figure_drawing(
        "roofline", "Roofline", figure, table_text(roofline_table(roofline_record(comparisons)))
    )


@public
def throughput(comparisons: Mapping[float, Comparison], *, size_label: str = "size") -> Drawing:
    """Return GFLOP/s against size, one line per entry, with the core's peak.

    Args:
        comparisons: By size.
        size_label: Label of the size axis, with its unit.

    Raises:
        UsageError: There are none, or the operations of one cannot be counted.
    """
    figure = draw_throughput(comparisons, size_label=size_label)
    text = table_text(throughput_table(throughput_plot(comparisons), size_label))
    return figure_drawing("throughput", f"GFLOP/s against {size_label}", figure, text)


@public
def op_counts(trace: Trace, *, by: By = "dialect", most: int = 6) -> Drawing:
    """Return how many ops of each kind the payload has after every step.

    Args:
        trace: The trace.
        by: Count by ``dialect`` or by ``name``.
        most: Limit on the number of lines; the kinds with the fewest ops share the last.

    Raises:
        UsageError: ``by`` is neither, or ``most`` is not from 2 to 6.
    """
    figure = draw_op_counts(trace, by=by, most=most)
    text = table_text(op_counts_table(trace, by=by, most=most))
    return figure_drawing("op-counts", f"Payload ops by {by}, after each step", figure, text)


@public
def live_buffers(kernel: Kernel) -> Drawing:
    """Return the lifetimes of the buffers of a call, and the peak.

    Nothing runs: buffers and their sizes are predicted. ``kernel.footprint()`` also counts them in a run.

    Args:
        kernel: The kernel.

    Raises:
        WorkerError: It cannot be compiled to buffers.
    """
    footprint = kernel.footprint(count=False)
    return figure_drawing(
        "live-buffers", "Live buffers", draw_live_buffers(footprint), footprint_text(footprint)
    )


_TITLES = {"knobs": "Knobs", "history": "Best so far", "outcomes": "Outcomes"}


@public
def sweep(result: SweepResult | Sweep, *, kind: SweepFigure = "knobs") -> Drawing:
    """Return the results of a sweep, also of a running one.

    Args:
        result: The result, or the sweep itself.
        kind: ``knobs``: heat maps of up to three knobs (the third gives a map for each of its values), else
            parallel coordinates with the importance of knobs; ``history``: the best so far after each variant;
            ``outcomes``: the number of variants by status, with the most frequent message.

    Raises:
        UsageError: There is no such kind, or no knob was varied.
    """
    if kind not in SWEEP_FIGURES:
        raise usage_error(f"there is no figure {kind!r} of a sweep", f"There are: {', '.join(SWEEP_FIGURES)}.")
    found = result if isinstance(result, SweepResult) else result.result()
    return figure_drawing(f"sweep-{kind}", _TITLES[kind], SWEEP_FIGURES[kind](found), sweep_text(found))
