"""Drawings of traces, payloads and kernels, of which parts can be selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lhkit.draw.graph_svg import graph_svg, graph_text
from lhkit.draw.layered_layout import layout
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import drawing_id
from lhkit.draw.viewer import View
from lhkit.model.boundary import public
from lhkit.model.flow_graph import FlowGraph
from lhkit.model.payload import Payload
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import (
    against_view,
    payload_pane,
    start_step,
    timeline_pane,
    trace_view,
)
from lhkit.show.value_views import code_view, graph_pane, text_picture
from lhkit.traces.diff.ir_html import ir_text
from lhkit.traces.diff.op_diff import ir_diff
from lhkit.traces.graph.flows import outline_after, payload_outline
from lhkit.traces.graph.payload_graph import Quantity, payload_flow
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_svg, timeline_text

if TYPE_CHECKING:
    from lhkit.kernels.kernel import Kernel


@public
def timeline(trace: Trace) -> Drawing:
    """Return what happened to each handle: a row a handle, a column a step.

    Args:
        trace: The trace.
    """
    drawing = timeline_drawing(trace)
    view = trace_view(trace, (timeline_pane(drawing),))
    return Drawing(view, timeline_text(drawing), lambda: timeline_svg(drawing, themed=False))


@public
def diff(trace: Trace, step: int | None = None, *, against: int | None = None) -> Drawing:
    """Return what a step did to the payload, op by op; a slider goes to the other steps.

    Args:
        trace: The trace.
        step: Which step, -1 for the payload as given; None for the one that failed, else the last.
        against: Compare with the payload after this step instead of the one before; then there is no slider.

    Raises:
        UsageError: There is no such step.
    """
    at = start_step(trace) if step is None else step
    shown = ir_diff(trace, at, against)
    view = against_view(trace, shown) if against is not None else trace_view(trace, (payload_pane(trace),), at)
    text = ir_text(shown)
    return Drawing(view, text, lambda: text_picture(shown.title or "payload", text), is_text=True)


@public
def graph(
    shown: Trace | Payload,
    step: int | None = None,
    *,
    unfolded: Sequence[str] = (),
    quantity: Quantity | None = None,
) -> Drawing:
    """Return what flows where: the handles between the steps of a schedule, or the values between payload ops.

    Args:
        shown: A trace, for its schedule; or a payload.
        step: With a trace: the payload after this step instead, with what the step created, changed and moved.
        unfolded: Ids of payload ops to open in any case, large ones being folded.
        quantity: A number of each payload op, shown as words and as depth of a colour.

    Raises:
        UsageError: The trace has no payload after that step.
        PayloadError: That payload does not parse alone.
    """
    if isinstance(shown, Payload):
        flow = payload_flow(payload_outline(shown), title=shown.source, unfolded=unfolded, quantity=quantity)
        view = View(
            drawing_id("graph", shown.sha256, *unfolded), (graph_pane("payload-graph", "Payload", flow),)
        )
        return _graph_drawing(flow, view)
    if step is None:
        flow = schedule_flow(shown)
        return _graph_drawing(flow, trace_view(shown, (graph_pane("schedule-graph", "Schedule", flow),)))
    flow = _flow_after(shown, step, unfolded, quantity)
    view = trace_view(shown, (graph_pane("payload-graph", f"Payload after step {step}", flow),), step)
    return _graph_drawing(flow, view)


def _flow_after(trace: Trace, step: int, unfolded: Sequence[str], quantity: Quantity | None) -> FlowGraph:
    delta = trace.step_records[step].payload_delta if step >= 0 else None
    title = f"the payload after step {step}"
    outline = outline_after(trace, step)
    return payload_flow(outline, title=title, delta=delta, unfolded=unfolded, quantity=quantity)


def _graph_drawing(flow: FlowGraph, view: View) -> Drawing:
    return Drawing(view, graph_text(flow), lambda: graph_svg(layout(flow), themed=False))


@public
def code(kernel: Kernel, target: str | None = None) -> Drawing:
    """Return the machine code of a kernel's hot loops beside the IR that it comes from.

    Args:
        kernel: The kernel.
        target: Show the code that it would have for ``sse``, ``avx2`` or ``avx512``; this CPU need not have the
            instructions.
    """
    listing = kernel.listing(target)
    view, text = code_view(listing)
    return Drawing(view, text, lambda: text_picture("machine code", text), is_text=True)
