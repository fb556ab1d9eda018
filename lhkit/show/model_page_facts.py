"""What the page of a trace draws that only a worker knows: graphs of its payloads and a tile picture."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.flow_graph import FlowGraph
from lhkit.model.tile_picture import TilePicture


@dataclass(frozen=True, slots=True)
class PageFacts:
    """Facts for the page of a trace; what is not there is not drawn.

    Attributes:
        flows: The graph of the payload as given (step -1) and after each step that changed it, as (step, graph)
            in ascending order of steps.
        tiles: The tile picture of the op with most work, or None.
        notes: Why something is not drawn, in sentences.
    """

    flows: tuple[tuple[int, FlowGraph], ...] = ()
    tiles: TilePicture | None = None
    notes: tuple[str, ...] = ()
