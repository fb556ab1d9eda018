"""Panes of pictures, and the questions for one frame of them: payload, timeline, schedule graph, tiles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from lhkit.draw.graph_svg import graph_svg
from lhkit.draw.layered_layout import layout
from lhkit.draw.svg import element, escaped
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.tile_picture import TilePicture
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import trace_key
from lhkit.tiles.tile_facts import MOST_ITERATIONS
from lhkit.tiles.tile_requests import tile_picture_at
from lhkit.tiles.tile_svg import tiles_at
from lhkit.traces.diff.ir_html import ir_html, payload_html, sides_html
from lhkit.traces.diff.op_diff import ir_at, ir_diff
from lhkit.traces.graph.payload_graph import payload_flow_of
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.record.placed_ops import SameTrace
from lhkit.traces.timeline.timeline_data import timeline_data
from lhkit.workbench.screen import Command, flag, integer
from lhkit.workbench.workbench_core import LivePane, WorkbenchCore, same_trace, sent

_NO_TILES: dict[str, Any] = {
    "key": "",
    "step": -1,
    "iteration": 0,
    "count": 0,
    "label": "",
    "html": "",
    "brief": "",
}


def payload_frame(trace: Trace, step: int, *, whole: bool, most_lines: int = 600) -> str:
    """Return the payload after a step as HTML."""
    if not trace.snapshots:
        return element("p", "There is no payload: nothing ran.", class_="lh-note")
    plain = ir_at(trace, step)
    # Without a step there is no difference to show, only folded lines.
    if whole or (not trace.step_records and len(plain.lines) <= most_lines):
        return payload_html(plain)
    return ir_html(ir_diff(trace, step), most_lines=most_lines)


def _payload(workbench: WorkbenchCore) -> dict[str, Any]:
    """Render the frame of the current step; the view asks for other steps."""
    trace, screen, whole = workbench.trace, workbench.screen, workbench.screen.whole_payload
    if trace is None:
        # An untrusted payload is shown as given; one without a trace has nothing to show.
        html = "" if workbench.session.is_trusted else sent(payload_html(workbench.session.payload.text))
        return {"key": "", "step": -1, "whole": whole, "html": html}
    html = payload_frame(trace, screen.step, whole=whole)
    return {"key": trace_key(trace), "step": screen.step, "whole": whole, "html": sent(html)}


def timeline_part(trace: Trace) -> Any:
    """Return the timeline of a trace, as its pane has it."""
    return sent(timeline_data(trace))


def _schedule_graph(trace: Trace) -> Any:
    return sent(graph_svg(layout(schedule_flow(trace)), themed=False))


def tiles_part(trace: Trace, step: int, iteration: int = -1) -> dict[str, Any]:
    """Return the tile picture of a step at an iteration (-1: where it starts), as its pane has it."""
    found = {"key": trace_key(trace), "step": step, "iteration": iteration}
    try:
        picture = _tile_picture(SameTrace(trace), step)
    except LhkitError as error:
        note = element("p", escaped(error.failure.message), class_="lh-note")
        return {**found, "count": 1, "label": "", "html": note, "brief": note}
    count = min(picture.iterations, MOST_ITERATIONS)
    iteration = picture.first if iteration < 0 else min(iteration, count - 1)
    words, drawing, brief = tiles_at(picture, iteration, themed=False)
    html = {"html": sent(drawing), "brief": sent(brief)}
    return {**found, "iteration": iteration, "count": count, "label": words, **html}


@functools.lru_cache(maxsize=16)
def _tile_picture(same: SameTrace, step: int) -> TilePicture:
    return tile_picture_at(same.trace, step)


def _tiles(workbench: WorkbenchCore) -> dict[str, Any]:
    """Render an iteration at the current step; the view asks for other steps and iterations."""
    trace = workbench.trace
    if trace is None or not workbench.screen.is_open("tiles"):
        return _NO_TILES
    return tiles_part(trace, workbench.screen.step)


def asked_trace(workbench: WorkbenchCore, question: Command) -> Trace:
    """Return the trace that a question names; a usage error if another one is on screen by now."""
    trace = workbench.trace
    if trace is None or question.get("key") != trace_key(trace):
        raise usage_error("another trace is shown by now")
    return trace


def _frame(workbench: WorkbenchCore, question: Command) -> Any:
    """``{"key": of the trace, "step": index, "whole": bool}`` → the payload after the step, packed.

    With ``"against": index`` it is the diff of the payloads after both steps, side by side.
    """
    trace = asked_trace(workbench, question)
    if "against" in question:
        return sent(sides_html(ir_diff(trace, integer(question, "step"), integer(question, "against"))))
    return sent(payload_frame(trace, integer(question, "step"), whole=flag(question, "whole")))


def _payload_graph(workbench: WorkbenchCore, question: Command) -> Any:
    """``{"key": of the trace, "step": index}`` → the graph of the payload after the step, packed."""
    trace, step = asked_trace(workbench, question), integer(question, "step")
    known = [s.step for s in trace.snapshots]
    # A step that failed or did not run has no snapshot: take the last one before it.
    at = max((s for s in known if s <= step), default=known[0] if known else step)
    flow = payload_flow_of(trace, at, worker=workbench.session.worker)
    return sent(graph_svg(layout(flow), themed=False))


def _tiles_at(workbench: WorkbenchCore, question: Command) -> Any:
    """``{"key": of the trace, "step": index, "iteration": number}`` → the tile picture, and what it shows.

    After a step that leaves no structured op it is of the last one before that did.
    """
    step, iteration = integer(question, "step"), integer(question, "iteration")
    return tiles_part(asked_trace(workbench, question), step, iteration)


def _shown_trace(workbench: WorkbenchCore, name: str) -> SameTrace | None:
    return same_trace(workbench) if workbench.screen.is_open(name) else None


def _picture(
    name: str, draw: Callable[[Trace], Any], nothing: Any, placeholder: Any = None, *, is_slow: bool = False
) -> LivePane:
    """Return a pane of a trace that is rendered only while it is in front; the timeline always is."""

    def key(workbench: WorkbenchCore) -> Hashable:
        return same_trace(workbench) if name == "timeline" else _shown_trace(workbench, name)

    def render(workbench: WorkbenchCore) -> Any:
        trace = workbench.trace
        return nothing if trace is None or key(workbench) is None else draw(trace)

    return LivePane(name, render, key, is_cached=True, placeholder=placeholder, is_slow=is_slow)


PANES = (
    LivePane("payload", _payload, lambda w: (same_trace(w), w.session.is_trusted)),
    _picture("timeline", timeline_part, "", is_slow=True),
    _picture("schedule_graph", _schedule_graph, ""),
    LivePane(
        "tiles", _tiles, lambda w: _shown_trace(w, "tiles"), is_cached=True, placeholder=_NO_TILES, is_slow=True
    ),
)
QUESTIONS: Mapping[str, Callable[[WorkbenchCore, Command], Any]] = {
    "frame": _frame,
    "payload_graph": _payload_graph,
    "tiles": _tiles_at,
}
