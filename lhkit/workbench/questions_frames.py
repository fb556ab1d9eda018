"""Questions for what is drawn of one step only: the payload after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lhkit.draw.graph_svg import graph_svg
from lhkit.draw.layered_layout import layout
from lhkit.model.errors import usage_error
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import trace_key
from lhkit.traces.graph.payload_graph import payload_flow_of
from lhkit.workbench.pane import Same, sent
from lhkit.workbench.pane_handles import tile_frame_part, tiles_of
from lhkit.workbench.pane_payload import payload_frame
from lhkit.workbench.screen import flag, integer

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

# What did not change folds where there are more ops.
_MOST_OPEN = 60


def shown_trace(workbench: Workbench, question: Mapping[str, Any]) -> Trace:
    """Return the trace that a question is about.

    Raises:
        UsageError: It is another one than the one that is shown now.
    """
    trace = workbench.trace
    if trace is None or question.get("key") != trace_key(trace):
        raise usage_error("another trace is shown by now")
    return trace


def _frame(workbench: Workbench, question: Mapping[str, Any]) -> Any:
    """``{"key": of the trace, "step": index, "whole": bool}`` → the payload after the step, packed."""
    trace = shown_trace(workbench, question)
    return sent(payload_frame(trace, integer(question, "step"), whole=flag(question, "whole")))


def _payload_graph(workbench: Workbench, question: Mapping[str, Any]) -> Any:
    """``{"key": of the trace, "step": index}`` → what flows where in the payload after the step, packed."""
    trace, step = shown_trace(workbench, question), integer(question, "step")
    known = [s.step for s in trace.snapshots]
    # A step that failed or never ran left no payload: shown is the one as it stood then.
    at = max((s for s in known if s <= step), default=known[0] if known else step)
    flow = payload_flow_of(trace, at, most_ops=_MOST_OPEN, worker=workbench.worker)
    return sent(graph_svg(layout(flow), themed=False))


def _tiles(workbench: Workbench, question: Mapping[str, Any]) -> Any:
    """``{"key": of the trace, "iteration": number}`` → which iteration it is, and its tile picture."""
    picture = tiles_of(Same(shown_trace(workbench, question)))
    return tile_frame_part(picture, integer(question, "iteration"))


QUESTIONS: Mapping[str, Callable[[Workbench, Mapping[str, Any]], Any]] = {
    "frame": _frame,
    "payload_graph": _payload_graph,
    "tiles": _tiles,
}
