"""The parts of the right side: the timeline of handles, the graph of the schedule, the tile picture."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from lhkit.draw.graph_svg import graph_svg
from lhkit.draw.layered_layout import layout
from lhkit.draw.svg import element, escaped
from lhkit.model.errors import LhkitError, usage_error
from lhkit.model.tile_picture import TilePicture
from lhkit.show.trace_view import trace_key
from lhkit.tiles.tile_requests import tile_picture_of
from lhkit.tiles.tile_svg import tiles_at
from lhkit.traces.graph.schedule_graph import schedule_flow
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_html
from lhkit.workbench.pane import Part, Same, same_trace, sent

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench

# Iterations to step through; loops repeat themselves long before.
_MOST_ITERATIONS = 32
_NO_TILES: dict[str, Any] = {"key": "", "count": 0, "label": "", "html": ""}


def _timeline(workbench: Workbench) -> Any:
    trace = workbench.trace
    if trace is None:
        return ""
    return sent(timeline_html(timeline_drawing(trace), styled=False, is_compact=True))


def _if_open(pane: str, workbench: Workbench) -> Hashable:
    """Return the trace where a pane is in front: what nobody sees is not drawn."""
    return (same_trace(workbench), True) if workbench.screen.is_open(pane) else None


def _schedule_graph(workbench: Workbench) -> Any:
    trace = workbench.trace
    if trace is None or not workbench.screen.is_open("schedule_graph"):
        return ""
    return sent(graph_svg(layout(schedule_flow(trace)), themed=False))


def _tiles(workbench: Workbench) -> dict[str, Any]:
    trace = workbench.trace
    if trace is None or not workbench.screen.is_open("tiles"):
        return _NO_TILES
    try:
        picture = tiles_of(Same(trace))
    except LhkitError as error:
        note = element("p", escaped(error.failure.message), class_="lh-note")
        return {"key": trace_key(trace), "count": 1, "label": "", "html": note}
    count = min(picture.iterations, _MOST_ITERATIONS)
    return {"key": trace_key(trace), "count": count, **tile_frame_part(picture, 0)}


@functools.lru_cache(maxsize=4)
def tiles_of(same: Same) -> TilePicture:
    """Return the tile picture of a trace; whoever steps through its iterations gets the same one.

    Raises:
        UsageError: It has no structured op, or there is no trace.
    """
    if same.trace is None:
        raise usage_error("there is no trace")
    return tile_picture_of(same.trace)


def tile_frame_part(picture: TilePicture, iteration: int) -> dict[str, Any]:
    """Return a tile picture at an iteration: which it is, in words, and the drawing."""
    words, drawing = tiles_at(picture, iteration, themed=False)
    return {"label": words, "html": sent(drawing)}


PARTS = (
    Part("timeline", same_trace, _timeline, is_kept=True),
    Part("schedule_graph", lambda w: _if_open("schedule_graph", w), _schedule_graph, is_kept=True),
    Part("tiles", lambda w: _if_open("tiles", w), _tiles, is_kept=True, meanwhile=_NO_TILES),
)
