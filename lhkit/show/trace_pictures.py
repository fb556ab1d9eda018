"""Selectable drawings of traces, payloads and kernels; plots of numbers, with matplotlib."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
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
from lhkit.draw.graph_svg import graph_svg, graph_text
from lhkit.draw.layered_layout import layout
from lhkit.draw.live_view import Drawing, figure_drawing, knob_control
from lhkit.draw.svg import drawing_id
from lhkit.draw.tables import comparison_table, table_text
from lhkit.draw.viewer import Pane, View
from lhkit.kernels.code_listing import SORT_MARKS, code_html, code_text
from lhkit.load.catalogue_cache import known_help
from lhkit.memory.kernel_memory import footprint_text
from lhkit.memory.live_buffers import draw_live_buffers
from lhkit.model.errors import LhkitError, public, usage_error
from lhkit.model.explanation import Repair
from lhkit.model.file_io import write_file
from lhkit.model.knob import KnobValue
from lhkit.model.measurement import Comparison
from lhkit.model.pass_trace import PassTrace
from lhkit.model.payload import Payload
from lhkit.model.tile_picture import TilePicture
from lhkit.model.trace_record import Trace
from lhkit.pipelines.pass_views import counts_svg, counts_table, step_diff
from lhkit.pipelines.pass_views import summary as passes_summary
from lhkit.repairs.repair_trials import find_repairs
from lhkit.show.trace_view import (
    against_view,
    detail_panes,
    payload_pane,
    start_step,
    timeline_pane,
    trace_drawing,
    trace_key,
    trace_page,
    trace_view,
)
from lhkit.show.value_views import (
    counts_pane,
    graph_pane,
    kernel_words,
    run_words,
    sweep_words,
    text_picture,
    tiles_pane,
    trace_words,
)
from lhkit.sweeps.sweep_summary import SweepResult
from lhkit.sweeps.sweep_table import SWEEP_FIGURES, SweepFigure, sweep_text
from lhkit.tiles.loops_picture import loops_svg, loops_text
from lhkit.tiles.op_dimensions import loops_of
from lhkit.tiles.tile_layout import tiles_text
from lhkit.tiles.tile_requests import tile_picture_of
from lhkit.tiles.tile_svg import tiles_svg
from lhkit.traces.diff.ir_html import ir_html, ir_text
from lhkit.traces.diff.line_diff import IrDiff
from lhkit.traces.diff.op_diff import ir_diff
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.traces.graph.payload_graph import Quantity, payload_flow_of
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.record.trace_run import trace_schedule
from lhkit.traces.report.op_counts import By, draw_op_counts, op_counts_table
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_svg, timeline_text

if TYPE_CHECKING:
    from lhkit.draw.view_widgets import KnobView
    from lhkit.kernels.kernel import Kernel
    from lhkit.sweeps.live_sweep import Sweep


@public
def speed(comparison: Comparison) -> Drawing:
    """Return how fast each entry is, as bars with 95 % intervals and shares of the core's limits.

    Args:
        comparison: The comparison.
    """
    text = table_text(comparison_table(comparison))
    title = f"Speed beside {comparison.anchor}"
    return figure_drawing("speed", title, draw_speed_bars(comparison), text, run_words(comparison))


@public
def roofline(comparisons: Comparison | Mapping[str, Comparison]) -> Drawing:
    """Return speed against arithmetic intensity, below what the core can compute and copy.

    Args:
        comparisons: One, or several by name, of one element type and one machine.

    Raises:
        UsageError: They differ in type or machine, or operations, bytes or limits are not known.
    """
    figure, text = draw_roofline(comparisons), table_text(roofline_table(roofline_record(comparisons)))
    runs = (comparisons,) if isinstance(comparisons, Comparison) else tuple(comparisons.values())
    return figure_drawing("roofline", "Roofline", figure, text, run_words(*runs))


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
    title = f"GFLOP/s against {size_label}"
    return figure_drawing("throughput", title, figure, text, run_words(*comparisons.values()))


@public
def op_counts(trace: Trace | PassTrace, *, by: By = "dialect", most: int = 6) -> Drawing:
    """Return how many ops of each kind the payload has after every step, or of each dialect after every pass.

    Args:
        trace: The trace, or passes; for these there is nothing to choose.
        by: Count by ``dialect`` or by ``name``.
        most: Limit on the number of lines; the kinds with the fewest ops share the last.

    Raises:
        UsageError: ``by`` is neither, or ``most`` is not from 2 to 6.
    """
    if isinstance(trace, PassTrace):
        view = View(drawing_id("passes", trace.source, repr(trace.steps)), (counts_pane(trace),))
        return Drawing(
            view,
            table_text(counts_table(trace)),
            lambda: counts_svg(trace, themed=False),
            title="Payload ops by dialect, after each pass",
            about=passes_summary(trace),
        )
    figure = draw_op_counts(trace, by=by, most=most)
    text = table_text(op_counts_table(trace, by=by, most=most))
    return figure_drawing(
        "op-counts", f"Payload ops by {by}, after each step", figure, text, trace_words(trace)
    )


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
    figure, text = draw_live_buffers(footprint), footprint_text(footprint)
    return figure_drawing("live-buffers", "Live buffers", figure, text, kernel_words(kernel))


_TITLES: Mapping[SweepFigure, str] = {
    "knobs": "Time by the values of the knobs",
    "history": "Best so far",
    "outcomes": "Outcomes of the variants",
    "prediction": "Measured and predicted times",
}


@public
def sweep(result: SweepResult | Sweep, *, kind: SweepFigure = "knobs") -> Drawing:
    """Return the results of a sweep, also of a running one.

    Args:
        result: The result, or the sweep itself.
        kind: ``knobs``: heat maps of up to three knobs (the third gives a map for each of its values), else
            parallel coordinates with the importance of knobs; ``history``: the best so far after each variant;
            ``outcomes``: the number of variants by status, with the most frequent message; ``prediction``: the
            times against those that a cost model predicts, after a sweep with ``strategy="predicted"``.

    Raises:
        UsageError: There is no such kind, no knob was varied, or there is no cost model.
    """
    if kind not in SWEEP_FIGURES:
        raise usage_error(f"there is no figure {kind!r} of a sweep", f"There are: {', '.join(SWEEP_FIGURES)}.")
    found = result if isinstance(result, SweepResult) else result.result()
    figure, text = SWEEP_FIGURES[kind](found), sweep_text(found)
    return figure_drawing(f"sweep-{kind}", _TITLES[kind], figure, text, sweep_words(found))


@public
def timeline(trace: Trace) -> Drawing:
    """Return the state of each handle over time: one row per handle, one column per step.

    Args:
        trace: The trace.
    """
    drawing = timeline_drawing(trace)
    view = trace_view(trace, (timeline_pane(trace),))
    return Drawing(
        view,
        timeline_text(drawing),
        lambda: timeline_svg(drawing, themed=False),
        title="The handles of the schedule, step by step",
        about=trace_words(trace),
    )


# Backgrounds of lines by their sign, as in the live drawings.
_DIFF_PAPERS = {"+": "created-paper", "−": "erased-paper", "~": "changed-paper", "↕": "selected-paper"}
_CODE_PAPERS = {
    **dict.fromkeys((SORT_MARKS["FMA"], SORT_MARKS["arithmetic"], SORT_MARKS["division"]), "created-paper"),
    **dict.fromkeys((SORT_MARKS["load"], SORT_MARKS["store"], SORT_MARKS["gather"]), "changed-paper"),
    **dict.fromkeys((SORT_MARKS["spill"], SORT_MARKS["call"]), "erased-paper"),
    SORT_MARKS["shuffle"]: "selected-paper",
}
_MOST_LINES = 600


def _diff_drawing(view: View, shown: IrDiff, about: str) -> Drawing:
    text, title = ir_text(shown), f"The payload {shown.title}" if shown.title else "The payload"

    def picture() -> str:
        return text_picture(title, text, _DIFF_PAPERS, most=_MOST_LINES)

    return Drawing(view, text, picture, is_text=True, title=title, about=about)


@public
def diff(trace: Trace | PassTrace, step: int | None = None, *, against: int | None = None) -> Drawing:
    """Return the payload diff of a step, op by op, with a slider over the steps; or of a pass, without one.

    Args:
        trace: The trace, or passes.
        step: The step, -1 for the payload as given; None for the one that failed, else the last.
        against: Compare with the payload after this step instead of the one before, without a slider.

    Raises:
        UsageError: There is no such step.
    """
    if isinstance(trace, PassTrace):
        changed = [s.index for s in trace.effective_steps] or [len(trace.steps) - 1]
        shown = step_diff(trace, changed[-1] if step is None else step, against)
        view = View(drawing_id("pass", trace.source, shown.title), (Pane("payload", "", ir_html(shown)),))
        return _diff_drawing(view, shown, passes_summary(trace))
    at = start_step(trace) if step is None else step
    shown = ir_diff(trace, at, against)
    view = against_view(trace, shown) if against is not None else trace_view(trace, (payload_pane(trace),), at)
    return _diff_drawing(view, shown, trace_words(trace))


@public
def graph(
    shown: Trace | Payload,
    step: int | None = None,
    *,
    unfolded: Sequence[str] = (),
    quantity: Quantity | None = None,
) -> Drawing:
    """Return a dataflow graph: handles between the steps of a schedule, or values between payload ops.

    Args:
        shown: A trace, for its schedule; or a payload.
        step: With a trace: the payload after this step instead, with what the step created, erased, changed
            and moved.
        unfolded: Ids of payload ops that are not folded, however large.
        quantity: A number per payload op, shown as text and as colour depth.

    Raises:
        UsageError: The trace has no payload after that step, or it is neither a trace nor a payload.
        PayloadError: That payload does not parse alone.
    """
    if not isinstance(shown, Trace | Payload):
        what = type(shown).__name__
        raise usage_error(
            f"a graph is drawn of a trace or a payload, not of a {what}", "Try lhkit.trace first."
        )
    if isinstance(shown, Payload):
        flow = payload_flow_of(shown, unfolded=unfolded, quantity=quantity)
        key = drawing_id("graph", shown.sha256, *unfolded)
        view = View(key, (graph_pane("payload-graph", "Payload", flow),))
    elif step is None:
        flow = schedule_flow(shown)
        view = trace_view(shown, (graph_pane("schedule-graph", "Schedule", flow),))
    else:
        flow = payload_flow_of(shown, step, unfolded=unfolded, quantity=quantity)
        view = trace_view(shown, (graph_pane("payload-graph", f"Payload after step {step}", flow),), step)
    shown_as = view.panes[0].title
    title = f"{shown_as}: steps and handles" if shown_as == "Schedule" else f"{shown_as}: ops and values"
    return Drawing(
        view, graph_text(flow), lambda: graph_svg(layout(flow), themed=False), title=title, about=_about(shown)
    )


def _about(shown: Trace | Payload) -> str:
    if isinstance(shown, Trace):
        return trace_words(shown)
    return f"{PurePath(shown.source).name} · sha256 {shown.sha256[:12]}"


@public
def code(kernel: Kernel, target: str | None = None) -> Drawing:
    """Return the machine code of a kernel's hot loops beside the IR that it comes from.

    Args:
        kernel: The kernel.
        target: Cross-compile for ``sse``, ``avx2`` or ``avx512``.
    """
    listing = kernel.listing(target)
    text = code_text(listing)
    pane = Pane("code", f"Hot loops of @{listing.function}, {listing.architecture}", code_html(listing))
    view = View(drawing_id("code", text), (pane,))
    return Drawing(
        view,
        text,
        lambda: text_picture("machine code", text, _CODE_PAPERS, most=_MOST_LINES),
        is_text=True,
        title=pane.title,
        about=kernel_words(kernel),
    )


@public
def page(trace: Trace) -> Drawing:
    """Return all drawings of a trace as one: its handles, its schedule, the payload after each step, its tiles.

    Graphs of payloads are drawn where trace and payload are small.
    """
    return trace_drawing(trace, detail_panes(trace))


@public
def save_page(trace: Trace, path: str | os.PathLike[str], *, command: str | None = None) -> Path:
    """Write a trace as one self-contained interactive HTML file.

    Args:
        trace: The trace.
        path: The file, written atomically.
        command: The command line to print instead of the one that repeats the trace.

    Returns:
        Its path.

    Raises:
        UsageError: It cannot be written there.
    """
    repairs = repairs_of(trace)
    text = trace_page(trace, known_help(), detail_panes(trace), command=command, repairs=repairs)
    write_file(os.fspath(path), text.encode(errors="replace"))
    return Path(path)


_MOST_REPAIRS = 2
_REPAIR_SECONDS = 5.0


def repairs_of(trace: Trace) -> tuple[Repair, ...]:
    """Return repairs of a trace that failed; none if its texts are not known."""
    given = trace.provenance
    if given is None or trace.outcome.status != "failed":
        return ()
    try:
        found = find_repairs(given.payload, given.schedule, trace, limit=_MOST_REPAIRS, seconds=_REPAIR_SECONDS)
    except LhkitError:  # the page has the failure itself
        return ()
    return tuple(found)


# Frames of a picture with knobs; each takes some milliseconds to draw.
_MOVING_ITERATIONS = 8


@public
def tiles(
    shown: Trace | Payload,
    op: str | int | None = None,
    *,
    step: int | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
    knobs: bool = False,
) -> Drawing:
    """Return the parts of its operands that each iteration around a structured op touches.

    Args:
        shown: A trace, or a payload.
        op: A handle by name or id, a payload op by id or name, or a number among the linalg ops; None for the
            one with most work.
        step: The step of the trace; None for the last after which the op exists.
        shapes: The shape of each argument, ``()`` for a scalar; needed where they are dynamic.
        knobs: With a kernel, add a slider or menu for each knob of the trace's schedule that lists its values:
            while it moves, the schedule is applied again and the picture follows.

    Raises:
        UsageError: There is no such op, or its extents are not known; there are no knobs to move.
    """
    picture_of = functools.partial(tile_picture_of, op=op, step=step, shapes=shapes)
    if knobs:
        return _with_knobs(shown, picture_of)
    picture = picture_of(shown)
    key = trace_key(shown) if isinstance(shown, Trace) else drawing_id("payload", shown.sha256)
    view = View(key, (tiles_pane(picture),))
    return Drawing(
        view,
        tiles_text(picture),
        lambda: tiles_svg(picture, themed=False),
        title=view.panes[0].title,
        about=_about(shown),
    )


@public
def loops(trace: Trace, op: str | int | None = None) -> Drawing:
    """Return the loops around a structured op at the end of a trace, and its own dimensions, as nested boxes.

    Args:
        trace: The trace.
        op: The op, as for `lhkit.loops_of`.

    Raises:
        UsageError: There is no such op.
    """
    found = loops_of(trace, op)
    picture = loops_svg(found)
    title = f"Loops around {found.op}, each variable with its step"
    pane = Pane("loops", title, picture, picture=loops_svg(found, themed=False))
    return Drawing(
        View(trace_key(trace), (pane,)),
        loops_text(found),
        lambda: loops_svg(found, themed=False),
        title=title,
        about=trace_words(trace),
    )


def _with_knobs(shown: Trace | Payload, picture_of: Callable[[Trace], TilePicture]) -> Drawing:
    given = shown.provenance if isinstance(shown, Trace) else None
    if not isinstance(shown, Trace) or given is None:
        raise usage_error(
            "there is no schedule whose knobs could move",
            "Give a trace that was made here; one that was read from JSON holds no schedule.",
        )
    schedule = given.schedule
    knobs = [knob for knob in schedule.knobs if len(knob.options) > 1]
    if not knobs:
        message = f"{schedule.source} has no knob that lists its values"
        raise usage_error(message, "Leave out knobs=True for the picture alone.")
    key, picture = trace_key(shown), picture_of(shown)
    view = _knob_view(key, picture, schedule.values)
    controls = "".join(knob_control(knob, schedule.values[knob.name]) for knob in knobs)

    def redraw(values: Mapping[str, KnobValue]) -> tuple[View | None, str]:
        try:
            trace = trace_schedule(given.payload, schedule, values)
            moved = picture_of(trace)
        except LhkitError as error:
            return None, f"not drawn: {error.failure.message}"
        return _knob_view(key, moved, values), "" if (failed := failure_of(trace)) is None else failed.message

    def live() -> KnobView:
        from lhkit.draw.view_widgets import KnobView

        return KnobView(view, controls, schedule.values, redraw)

    return Drawing(
        view,
        tiles_text(picture),
        lambda: tiles_svg(picture, themed=False),
        live=live,
        title=view.panes[0].title,
        about=_about(shown),
    )


def _knob_view(key: str, picture: TilePicture, values: Mapping[str, KnobValue]) -> View:
    pane = tiles_pane(picture, _MOVING_ITERATIONS)
    said = ", ".join(f"{name} = {value}" for name, value in values.items())
    return View(key, (dataclasses.replace(pane, title=f"{pane.title}: {said}"),))
