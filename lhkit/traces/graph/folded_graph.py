"""A dataflow graph whose boxes are folded until it can be read: those with a mark are opened first."""

from __future__ import annotations

import dataclasses
import heapq
from collections import defaultdict

from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode

# As many nodes as a screen shows with their words.
MOST_NODES = 60


def folded_graph(graph: FlowGraph, most: int = MOST_NODES) -> FlowGraph:
    """Return a graph in which boxes are folded so that about ``most`` nodes are shown.

    Boxes are opened from the outside in while there is room: those that hold a node with a mark (a failed
    step) first, then the smallest. A folded one says how many nodes it holds; edges from and to what is inside
    begin and end at it, one for each value and kind, and edges inside of it are left out. Signs that are then
    not drawn leave the legend.
    """
    if len(graph.nodes) <= most:
        return graph
    inside: dict[str | None, list[FlowNode]] = defaultdict(list)
    for node in graph.nodes:
        inside[node.parent].append(node)
    marked, sizes = _marked(graph, inside), _sizes(graph)
    shown, opened = len(inside[None]), set[str]()
    waiting = [(n.id not in marked, len(inside[n.id]), at, n.id) for at, n in enumerate(inside[None])]
    heapq.heapify(waiting)
    while waiting:
        *_, box = heapq.heappop(waiting)
        if not inside[box] or shown + len(inside[box]) > most:
            continue
        opened.add(box)
        for node in inside[box]:
            heapq.heappush(waiting, (node.id not in marked, len(inside[node.id]), shown, node.id))
            shown += 1
    return _with_open(graph, inside, opened, sizes)


def _marked(graph: FlowGraph, inside: dict[str | None, list[FlowNode]]) -> set[str]:
    """Return the nodes with a mark, and the boxes around them."""
    parents = {n.id: n.parent for n in graph.nodes}
    found: set[str] = set()
    for node in graph.nodes:
        at: str | None = node.id if node.sign and not node.is_ghost else None
        while at is not None and at not in found:
            found.add(at)
            at = parents[at]
    return found


def _sizes(graph: FlowGraph) -> dict[str, int]:
    """Return how many nodes each holds; boxes precede what is inside of them."""
    sizes = dict.fromkeys((n.id for n in graph.nodes), 0)
    for node in reversed(graph.nodes):
        if node.parent is not None:
            sizes[node.parent] += 1 + sizes[node.id]
    return sizes


def _with_open(
    graph: FlowGraph, inside: dict[str | None, list[FlowNode]], opened: set[str], sizes: dict[str, int]
) -> FlowGraph:
    homes: dict[str, str] = {}
    nodes = []
    for node in graph.nodes:
        if node.parent is not None and (node.parent not in opened or homes[node.parent] != node.parent):
            homes[node.id] = homes[node.parent]
            continue
        homes[node.id] = node.id
        if inside[node.id] and node.id not in opened:
            held = f"{sizes[node.id]} inside"
            detail = f"{node.detail} · {held}" if node.detail else held
            node = dataclasses.replace(node, detail=detail, is_folded=True)  # noqa: PLW2901
        nodes.append(node)
    edges: dict[tuple[str, str, str, str], FlowEdge] = {}
    for edge in graph.edges:
        source, target = homes[edge.source], homes[edge.target]
        if source == target:
            continue
        port = edge.port if source == edge.source else f"{edge.source} {edge.port}"
        moved = dataclasses.replace(edge, source=source, target=target, port=port)
        edges.setdefault((source, target, port, edge.role), moved)
    drawn = {"", *(n.sign for n in nodes), *(e.sign for e in edges.values())}
    legend = tuple(entry for entry in graph.legend if entry.sign in drawn)
    return dataclasses.replace(graph, nodes=tuple(nodes), edges=tuple(edges.values()), legend=legend)
