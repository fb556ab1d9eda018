"""Dataflow graphs as data: nodes nested in boxes, and named edges."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A node, or a box if other nodes name it as their parent.

    Attributes:
        sign: A mark before the title that says what ``role`` says without colour.
        role: Role of the theme that gives its colour, or "".
        is_ghost: True for an erased or skipped node: its outline is dashed.
        is_folded: True for a box whose content is not shown: its outline is double.
        heat: A quantity as a share of the scale from 0 to 1, or None.
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
    """An edge between two different nodes.

    Attributes:
        port: The value: edges of one source and port are one value with several users.
        label: Name of the value, written once at its port.
        is_dead: True for an invalid value: struck through.
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
    """The meaning of a sign and a colour; ``heat`` for an end of the scale of a quantity."""

    text: str
    sign: str = ""
    role: str = ""
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class FlowGraph:
    """A graph with a title for screen readers; boxes precede the nodes inside of them."""

    title: str
    nodes: tuple[FlowNode, ...]
    edges: tuple[FlowEdge, ...]
    legend: tuple[LegendEntry, ...] = ()
