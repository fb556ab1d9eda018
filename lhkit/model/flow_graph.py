"""A graph of what flows where, to be laid out and drawn: nodes inside of boxes, and edges with names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A node, or a box if other nodes name it as their parent.

    Attributes:
        id: Its identity in the graph.
        title: What it is, in a few words.
        detail: A second line; empty for none.
        parent: Id of the box that it lies in, None outside of all.
        sign: A mark before the title that says what ``role`` says, for those who see no colours.
        role: Role of the theme that gives its colour; empty for none.
        hover: What is said of it where one points at it.
        step: The step of the trace that it stands for.
        handles: Ids of the handles that it stands for.
        ops: Ids of the payload ops that it stands for.
        is_ghost: True for what is not there any more: its outline is dashed.
        is_folded: True for a box whose inside is not shown: its outline is double.
        heat: A quantity as a share of the scale from 0 to 1, None for none.
        quantity: The quantity in words (``12.5 ms``).
    """

    id: str
    title: str
    detail: str = ""
    parent: str | None = None
    sign: str = ""
    role: str = ""
    hover: str = ""
    step: int | None = None
    handles: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    is_ghost: bool = False
    is_folded: bool = False
    heat: float | None = None
    quantity: str = ""


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """Something that goes from a node to a node.

    Attributes:
        source: Id of the node that it leaves.
        target: Id of the node that it enters; another one than the source.
        port: What leaves: edges of one source and port are one thing that goes to several nodes.
        label: Name of what leaves, written once at its port.
        role: Role of the theme that gives its colour; empty for the usual one.
        sign: A mark where it ends; empty for none.
        is_dead: True for what was no longer valid: struck through.
        hover: What is said of it where one points at it.
        handles: Ids of the handles that it stands for.
        ops: Ids of the payload ops that it stands for.
    """

    source: str
    target: str
    port: str = ""
    label: str = ""
    role: str = ""
    sign: str = ""
    is_dead: bool = False
    hover: str = ""
    handles: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """What a sign and a colour mean; ``heat`` for an end of the scale of a quantity."""

    text: str
    sign: str = ""
    role: str = ""
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class FlowGraph:
    """A graph: boxes stand before the nodes inside of them.

    Attributes:
        title: What it shows, for a reader who does not see it.
        nodes: Its nodes and boxes.
        edges: Its edges.
        legend: What its signs mean.
    """

    title: str
    nodes: tuple[FlowNode, ...]
    edges: tuple[FlowEdge, ...]
    legend: tuple[LegendEntry, ...] = ()
