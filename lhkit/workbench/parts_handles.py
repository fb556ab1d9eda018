"""The parts of the right side: the timeline of handles, the graph of the schedule, the tile picture."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from lhkit.analysis.schedule_flow import schedule_flow
from lhkit.model.errors import LhkitError
from lhkit.render.graph import graph_svg
from lhkit.render.layered import layout
from lhkit.render.svg import element, escaped
from lhkit.render.tiles import tiles_frames
from lhkit.render.timeline import timeline_drawing, timeline_html
from lhkit.render.viewer import packed
from lhkit.session.tilings import tile_picture_of
from lhkit.workbench.part import Part, same_trace

if TYPE_CHECKING:
    from lhkit.workbench.workbench import Workbench

# Iterations to step through while knobs move: each takes some milliseconds to draw.
_ITERATIONS = 8


def _timeline(workbench: Workbench) -> Any:
    trace = workbench.trace
    return packed(timeline_html(timeline_drawing(trace))) if trace else ""


def _if_open(pane: str, workbench: Workbench) -> Hashable:
    """Return the trace where a pane is in front: what nobody sees is not drawn."""
    return (same_trace(workbench), True) if workbench.screen.is_open(pane) else None


def _schedule_graph(workbench: Workbench) -> Any:
    trace = workbench.trace
    if trace is None or not workbench.screen.is_open("schedule_graph"):
        return ""
    return packed(graph_svg(layout(schedule_flow(trace))))


def _tiles(workbench: Workbench) -> dict[str, Any]:
    trace = workbench.trace
    if trace is None or not workbench.screen.is_open("tiles"):
        return {"title": "", "frames": []}
    try:
        picture = tile_picture_of(trace)
    except LhkitError as error:
        note = element("p", escaped(error.failure.message), class_="lh-note")
        return {"title": "", "frames": [{"label": "", "html": note}]}
    frames = tiles_frames(picture, _ITERATIONS)
    return {
        "title": f"Tiles of {picture.op}",
        "frames": [{"label": words, "html": packed(html)} for words, html in frames],
    }


PARTS = (
    Part("timeline", same_trace, _timeline),
    Part("schedule_graph", lambda w: _if_open("schedule_graph", w), _schedule_graph),
    Part("tiles", lambda w: _if_open("tiles", w), _tiles),
)
