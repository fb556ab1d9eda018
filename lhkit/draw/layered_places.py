"""Where vertices of layers stand from left to right: long edges straight, nothing on anything.

The method of Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment" (Graph Drawing 2001): four
alignments of vertices in blocks, each as compact as its blocks allow, and the mean of the middle two. Blocks
are set apart by the widths of what is in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Order = Sequence[Sequence[int]]
Neighbours = Sequence[Sequence[int]]


def horizontal_centers(
    order: Order,
    arcs: Sequence[tuple[int, int]],
    widths: Sequence[float],
    gaps: Sequence[float],
    bends_from: int,
) -> list[float]:
    """Return the center of every vertex.

    Args:
        order: The vertices of each layer from left to right.
        arcs: Arcs from a layer to the next.
        widths: The width of each vertex.
        gaps: The gap that each vertex keeps to a side; between two, the mean of theirs.
        bends_from: Vertices from this number on are bends, whose arcs stay straight before others do.
    """
    place = [0] * len(widths)
    for layer in order:
        for i, v in enumerate(layer):
            place[v] = i
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for a, b in arcs:
        below[a].append(b)
        above[b].append(a)
    for each in (*above, *below):
        each.sort(key=place.__getitem__)
    bad = _conflicts(order, above, place, bends_from)
    found = []
    for neighbours, layers in ((above, list(order)), (below, list(reversed(order)))):
        found.append(_compact(order, _aligned(layers, neighbours, place, bad), widths, gaps))
        mirrored = [list(reversed(layer)) for layer in layers]
        places = [-p for p in place]
        reverse = [list(reversed(each)) for each in neighbours]
        roots = _aligned(mirrored, reverse, places, bad)
        right = _compact([list(reversed(layer)) for layer in order], roots, widths, gaps)
        found.append([-x for x in right])
    return _balanced(found, widths)


def _conflicts(order: Order, above: Neighbours, place: Sequence[int], bends_from: int) -> set[tuple[int, int]]:
    """Return the arcs that cross one between two bends, and give way to it."""
    bad: set[tuple[int, int]] = set()
    for upper, layer in itertools.pairwise(order):
        inner = [
            (i, place[above[v][0]])
            for i, v in enumerate(layer)
            if v >= bends_from and above[v] and above[v][0] >= bends_from
        ]
        left, start = -1, 0
        for end, right in [*inner, (len(layer) - 1, len(upper))]:
            for v in layer[start : end + 1]:
                is_bend = v >= bends_from
                for u in above[v]:
                    if not left <= place[u] <= right and not (is_bend and u >= bends_from):
                        bad.add((u, v))
            left, start = right, end + 1
    return bad


def _aligned(
    layers: Order, neighbours: Neighbours, place: Sequence[int], bad: set[tuple[int, int]]
) -> list[int]:
    """Return the block of each vertex, as the vertex that it begins with."""
    root = list(range(len(place)))
    align = list(root)
    for layer in layers:
        reached = None
        for v in layer:
            near = neighbours[v]
            for i in {(len(near) - 1) // 2: 0, len(near) // 2: 0} if near else ():
                u = near[i]
                if align[v] != v or (u, v) in bad or (v, u) in bad:
                    continue
                if reached is None or reached < place[u]:
                    align[u] = v
                    root[v] = align[v] = root[u]
                    reached = place[u]
    return root


def _compact(order: Order, root: Sequence[int], widths: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the center of each vertex: blocks as far left as can be, then closer to those right of them."""
    after: dict[int, dict[int, float]] = {v: {} for v in root}
    entering = dict.fromkeys(after, 0)
    for layer in order:
        for u, v in itertools.pairwise(layer):
            a, b = root[u], root[v]
            apart = (widths[u] + widths[v]) / 2 + (gaps[u] + gaps[v]) / 2
            if b not in after[a]:
                entering[b] += 1
            after[a][b] = max(after[a].get(b, 0.0), apart)
    at = dict.fromkeys(after, 0.0)
    ready = [v for v in after if not entering[v]]
    for a in ready:  # grows
        for b, apart in after[a].items():
            at[b] = max(at[b], at[a] + apart)
            entering[b] -= 1
            if not entering[b]:
                ready.append(b)
    for a in reversed(ready):
        if after[a]:
            at[a] = max(at[a], min(at[b] - apart for b, apart in after[a].items()))
    return [at[r] for r in root]


def _balanced(found: Sequence[Sequence[float]], widths: Sequence[float]) -> list[float]:
    """Return the mean of the middle two of four, each moved to the narrowest of them."""
    if not widths:
        return []
    edges = [
        (
            min(x - w / 2 for x, w in zip(xs, widths, strict=True)),
            max(x + w / 2 for x, w in zip(xs, widths, strict=True)),
        )
        for xs in found
    ]
    left, right = min(edges, key=lambda e: e[1] - e[0])
    moved = []
    for i, (xs, (low, high)) in enumerate(zip(found, edges, strict=True)):
        by = right - high if i % 2 else left - low
        moved.append([x + by for x in xs])
    return [sum(sorted(four)[1:3]) / 2 for four in zip(*moved, strict=True)]
