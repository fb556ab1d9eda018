"""Graphs for tests of layouts, and what must hold of every layout."""

import itertools

from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode

TOLERANCE = 0.01


def chain_graph(count, reach, seed=7):
    """A graph of nodes that each take one or two values from those close before them."""
    numbers = seed
    edges = []
    for i in range(1, count):
        for _ in range(1 + i % 3 // 2):
            numbers = (numbers * 1103515245 + 12345) % 2**31
            source = i - 1 - numbers // 65536 % min(reach, i)
            edges.append(FlowEdge(f"n{source}", f"n{i}", label=f"%{source}", ops=(f"o{source}",)))
    unique = {(e.source, e.target): e for e in edges}
    nodes = tuple(FlowNode(f"n{i}", f"op.number_{i}", "tensor<4x4xf32>", ops=(f"o{i}",)) for i in range(count))
    return FlowGraph("a chain", nodes, tuple(unique.values()))


def boxes_around(graph, node):
    """The ids of the boxes around a node, and of the node."""
    parents = {n.id: n.parent for n in graph.nodes}
    found = []
    while node is not None:
        found.append(node)
        node = parents[node]
    return found


def overlaps(a, b):
    return (
        a.x + a.width > b.x + TOLERANCE
        and b.x + b.width > a.x + TOLERANCE
        and a.y + a.height > b.y + TOLERANCE
        and b.y + b.height > a.y + TOLERANCE
    )


def curve_points(route):
    """Points along a way as it is drawn: straight down, else a curve that leaves and arrives upright."""
    found = []
    for (x, y), (to_x, to_y) in itertools.pairwise(route.points):
        middle = (y + to_y) / 2
        for i in range(17):
            t = i / 16
            u = 1 - t
            found.append(
                (
                    u**3 * x + 3 * u * u * t * x + 3 * u * t * t * to_x + t**3 * to_x,
                    u**3 * y + 3 * u * u * t * middle + 3 * u * t * t * middle + t**3 * to_y,
                )
            )
    return found


def problems(layout):
    """What is wrong with a layout, in words; nothing if all is well."""
    graph = layout.graph
    places = {p.node.id: p for p in layout.nodes}
    around = {n.id: boxes_around(graph, n.id) for n in graph.nodes}
    found = []
    for a, b in itertools.combinations(layout.nodes, 2):
        nested = a.node.id in around[b.node.id] or b.node.id in around[a.node.id]
        if not nested and overlaps(a, b):
            found.append(f"{a.node.id} lies on {b.node.id}")
    for p in layout.nodes:
        inside_of = places.get(p.node.parent)
        left, top, right, bottom = 0.0, 0.0, layout.width, layout.height
        if inside_of is not None:
            left, top = inside_of.x, inside_of.y
            right, bottom = left + inside_of.width, top + inside_of.height
        if p.x < left or p.y < top or p.x + p.width > right or p.y + p.height > bottom:
            found.append(f"{p.node.id} sticks out of {p.node.parent}")
    for route in layout.routes:
        edges = [graph.edges[i] for i in route.edges]
        own = {n for e in edges for n in (*around[e.source], *around[e.target])}
        points = curve_points(route)
        for p in layout.nodes:
            if p.node.id in own:
                continue
            for x, y in points:
                inside_x = p.x + TOLERANCE < x < p.x + p.width - TOLERANCE
                if inside_x and p.y + TOLERANCE < y < p.y + p.height - TOLERANCE:
                    found.append(f"{edges[0].source} → {edges[0].target} crosses {p.node.id}")
                    break
    served = {i for r in layout.routes if r.arrives for i in r.edges}
    found += [f"edge {i} arrives nowhere" for i in range(len(graph.edges)) if i not in served]
    return found
