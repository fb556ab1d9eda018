"""The facts for the page of a trace that only a worker knows, where they are few enough to draw quickly."""

from __future__ import annotations

from lhkit.model.errors import LhkitError
from lhkit.model.flow_graph import FlowGraph
from lhkit.model.printable import counted
from lhkit.model.tile_picture import TilePicture
from lhkit.model.trace_record import PayloadDelta, Trace
from lhkit.show.model_page_facts import PageFacts
from lhkit.tiles.tile_requests import tile_picture_of
from lhkit.traces.graph.flows import outline_after, payload_flow_of
from lhkit.traces.record.placed_ops import order_at
from lhkit.worker.client import Worker

# Up to here all graphs of a trace are drawn in well below two seconds.
_MOST_STEPS = 30
_MOST_OPS = 150
# What did not change folds where there are more: the graph of a page is for a look at what a step did.
_MOST_OPEN = 60
_ONE = "lhkit.show.graph(trace, step=…) draws that of one step."

Flows = tuple[tuple[int, FlowGraph], ...]


def page_facts(trace: Trace, *, worker: Worker | None = None) -> PageFacts:
    """Return the graphs and the tile picture of a trace, or sentences on why there are none.

    Args:
        trace: The trace; one that failed or was read from JSON will do.
        worker: Another worker than the session's.
    """
    if not any(s.step == -1 for s in trace.snapshots):
        return PageFacts()
    flows, flow_notes = _flows(trace, worker)
    tiles, tile_notes = _tiles(trace, worker)
    return PageFacts(flows, tiles, flow_notes + tile_notes)


def _flows(trace: Trace, worker: Worker | None) -> tuple[Flows, tuple[str, ...]]:
    steps = [-1, *(s.index for s in trace.step_records if s.payload_delta != PayloadDelta())]
    known = {s.step for s in trace.snapshots}
    steps = [step for step in steps if step in known]
    if len(steps) > _MOST_STEPS:
        return (), (f"Graphs of the payload are not drawn: {counted(len(steps), 'step')} changed it. {_ONE}",)
    try:
        ends = (steps[0], steps[-1])
        ops = max(_op_count(trace, step, worker) for step in ends)
        if ops > _MOST_OPS:
            return (), (f"Graphs of the payload are not drawn: it has {ops} ops. {_ONE}",)
        return tuple(
            (step, payload_flow_of(trace, step, most_ops=_MOST_OPEN, worker=worker)) for step in steps
        ), ()
    except LhkitError as error:
        return (), (f"Graphs of the payload are not drawn: {_said(error)}",)


def _op_count(trace: Trace, step: int, worker: Worker | None) -> int:
    known = order_at(trace, step)
    return len(outline_after(trace, step, worker=worker).ops) if known is None else len(known)


def _tiles(trace: Trace, worker: Worker | None) -> tuple[TilePicture | None, tuple[str, ...]]:
    try:
        return tile_picture_of(trace, worker=worker), ()
    except LhkitError as error:
        return None, (f"No picture of tiles: {_said(error)}",)


def _said(error: LhkitError) -> str:
    return error.failure.message.partition("\n")[0]
