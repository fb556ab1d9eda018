"""Dataflow graphs as data: nodes nested in boxes, and named edges."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A node, or a box if other nodes name it as their parent."""

    id: str
    title: str
    detail: str = ""
    parent: str | None = None
    sign: str = ""  # A mark before the title that says what ``role`` says without colour
    role: str = ""  # Role of the theme that gives its colour, or ""
    hover: str = ""
    step: int | None = None
    handles: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    is_ghost: bool = False  # True for an erased or skipped node: its outline is dashed
    is_folded: bool = False  # True for a box whose content is not shown: its outline is double
    heat: float | None = None  # A quantity as a share of the scale from 0 to 1, or None
    quantity: str = ""


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """An edge between two different nodes."""

    source: str
    target: str
    port: str = ""  # The value: edges of one source and port are one value with several users
    label: str = ""  # Name of the value, written once at its port
    role: str = ""
    sign: str = ""
    is_dead: bool = False  # True for an invalid value: struck through
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
