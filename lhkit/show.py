"""Drawings of lhkit's values: ``lhkit.show.timeline(trace)``, ``lhkit.show.diff(trace, step=3)`` and others.

Each returns a `Drawing`. At the end of a notebook's cell it is a picture that answers to clicks and keys, and
all drawings of one trace share what is selected; without a kernel it is the same picture.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lhkit.analysis.op_diff import ir_diff
from lhkit.analysis.payload_flow import Quantity, payload_flow
from lhkit.analysis.schedule_flow import schedule_flow
from lhkit.model.flow import FlowGraph
from lhkit.model.payload import Payload
from lhkit.model.trace import Trace
from lhkit.render.graph import graph_svg, graph_text
from lhkit.render.ir_html import ir_text
from lhkit.render.layered import layout
from lhkit.render.svg import drawing_id
from lhkit.render.tile_text import tiles_text
from lhkit.render.tiles import tiles_svg
from lhkit.render.timeline import timeline_drawing, timeline_svg, timeline_text
from lhkit.render.trace_view import (
    against_view,
    payload_pane,
    start_step,
    timeline_pane,
    trace_key,
    trace_page,
    trace_view,
)
from lhkit.render.value_views import code_view, graph_pane, text_picture, tiles_view
from lhkit.render.viewer import View
from lhkit.session.catalogues import known_help
from lhkit.session.files import write_file
from lhkit.session.flows import outline_after, payload_outline
from lhkit.session.tilings import tile_picture_of
from lhkit.widgets.bundles import trace_drawing
from lhkit.widgets.drawing import Drawing

if TYPE_CHECKING:
    from lhkit.session.kernels import Kernel

__all__ = ["Drawing", "Quantity", "code", "diff", "graph", "page", "save_page", "tiles", "timeline"]


def timeline(trace: Trace) -> Drawing:
    """Return what happened to each handle: a row a handle, a column a step.

    Args:
        trace: The trace.
    """
    drawing = timeline_drawing(trace)
    view = trace_view(trace, (timeline_pane(drawing),))
    return Drawing(view, timeline_text(drawing), lambda: timeline_svg(drawing, themed=False))


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


def tiles(
    shown: Trace | Payload,
    op: str | int | None = None,
    *,
    step: int | None = None,
    shapes: Sequence[Sequence[int]] | None = None,
) -> Drawing:
    """Return what the iterations of the loops around a structured op touch of its operands.

    Args:
        shown: A trace, or a payload as it stands.
        op: A handle by name or id, a payload op by id or name, or a number among the linalg ops; None for the
            one with most work.
        step: The step of the trace after which to look; None for the last at which the op was still there.
        shapes: The shape of each argument, ``()`` for a scalar; needed where they are dynamic.

    Raises:
        UsageError: There is no such op, or its extents are not known.
    """
    picture = tile_picture_of(shown, op=op, step=step, shapes=shapes)
    key = trace_key(shown) if isinstance(shown, Trace) else drawing_id("payload", shown.sha256)
    return Drawing(tiles_view(key, picture), tiles_text(picture), lambda: tiles_svg(picture, themed=False))


def code(kernel: Kernel) -> Drawing:
    """Return the machine code of a kernel's hot loops beside the IR that it comes from.

    Args:
        kernel: The kernel.
    """
    listing = kernel.listing()
    view, text = code_view(listing)
    return Drawing(view, text, lambda: text_picture("machine code", text), is_text=True)


def page(trace: Trace) -> Drawing:
    """Return all drawings of a trace as one: its handles, its schedule, the payload after each step."""
    return trace_drawing(trace)


def save_page(trace: Trace, path: str | os.PathLike[str], *, command: str | None = None) -> Path:
    """Write a trace as one HTML file: no kernel, no network, steps to go through, one selection.

    Args:
        trace: The trace.
        path: Where; the file appears whole or not at all.
        command: The command line to state instead of the one that repeats the trace.

    Returns:
        Its path.

    Raises:
        UsageError: It cannot be written there.
    """
    write_file(os.fspath(path), trace_page(trace, known_help(), command=command).encode())
    return Path(path)
