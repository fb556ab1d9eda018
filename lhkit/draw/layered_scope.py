"""The inside of one box, laid out: layers from top to bottom, edges that pass between what stands in them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from lhkit.draw.layered_places import horizontal_centers
from lhkit.draw.layered_ranks import Layers, layers_of

Point = tuple[float, float]
Net = Hashable

_GAP, _BEND_GAP = 22.0, 12.0
_LAYER_GAP, _WIDEST_LAYER_GAP, _GAP_AN_ARC = 26.0, 110.0, 1.6
_SPREAD = 24.0
# What is left of an edge that is too long to be drawn; shorter than the gap between layers.
_STUB = 16.0
_ROUNDING = 0.01


@dataclass(slots=True)
class Vertex:
    """What stands in a layer: a node, a box that is laid out, or a port of the box around.

    Attributes:
        width: In pixels.
        height: What is drawn of it.
        below: Room for the labels of its ports.
        entries: Where nets enter it, from its left; the others are spread over its top.
        exits: Where nets leave it, from its left.
    """

    width: float
    height: float
    below: float = 0.0
    entries: dict[Net, float] = field(default_factory=dict)
    exits: dict[Net, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Arc:
    """An edge between two vertices; one that ``enters`` a box does so at the port of its net."""

    source: int
    target: int
    net: Net
    enters: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """Where everything is: corners of vertices, ways of arcs, the size of it all."""

    corners: tuple[Point, ...]
    ways: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def place(vertices: Sequence[Vertex], arcs: Sequence[Arc], first: Sequence[int], last: Sequence[int]) -> Placed:
    """Lay out the inside of a box.

    Args:
        vertices: What stands in it.
        arcs: Its edges; those of one net from one vertex share their way as far as they can.
        first: Ports in its top.
        last: Ports in its bottom.
    """
    nets = {net: i for i, net in enumerate(dict.fromkeys(a.net for a in arcs))}
    ends = [(a.source, a.target) for a in arcs]
    layers = layers_of(len(vertices), ends, [nets[a.net] for a in arcs], first, last)
    bends = len(layers.ranks) - len(vertices)
    widths = [v.width for v in vertices] + [1.0] * bends
    gaps = [_GAP if v.height else _BEND_GAP for v in vertices] + [_BEND_GAP] * bends
    centers = horizontal_centers(layers.order, layers.arcs, widths, gaps, len(vertices))
    left = min((c - w / 2 for c, w in zip(centers, widths, strict=True)), default=0.0)
    centers = [c - left for c in centers]
    tops, bottoms = _heights(layers, vertices)
    corners = []
    for v, each in enumerate(vertices):
        rank = layers.ranks[v]
        room = bottoms[rank] - tops[rank] - each.height - each.below
        # The highest fills its layer but for rounding, which must not turn the end of an edge around.
        y = tops[rank] + (room / 2 if room > _ROUNDING else 0.0)
        corners.append((centers[v] - each.width / 2, y))
    ways = _Router(layers, vertices, arcs, centers, corners, tops, bottoms).ways()
    width = max((c + w / 2 for c, w in zip(centers, widths, strict=True)), default=0.0)
    return Placed(tuple(corners), ways, width, bottoms[-1] if bottoms else 0.0)


def _heights(layers: Layers, vertices: Sequence[Vertex]) -> tuple[list[float], list[float]]:
    """Return top and bottom of every layer; the more arcs lie between two, the farther they are apart."""
    count = len(layers.order)
    between = [0] * count
    for a, _ in layers.arcs:
        between[layers.ranks[a]] += 1
    tops, bottoms, at = [], [], 0.0
    for rank, layer in enumerate(layers.order):
        height = max((vertices[v].height + vertices[v].below for v in layer if v < len(vertices)), default=0.0)
        tops.append(at)
        bottoms.append(at + height)
        at += height + min(_LAYER_GAP + _GAP_AN_ARC * between[rank], _WIDEST_LAYER_GAP)
    return tops, bottoms


class _Router:
    """Ways of arcs: straight down through the layer that a vertex or bend stands in, across between layers."""

    def __init__(
        self,
        layers: Layers,
        vertices: Sequence[Vertex],
        arcs: Sequence[Arc],
        centers: Sequence[float],
        corners: Sequence[Point],
        tops: Sequence[float],
        bottoms: Sequence[float],
    ) -> None:
        self._layers, self._vertices, self._arcs = layers, vertices, arcs
        self._centers, self._corners = centers, corners
        self._tops, self._bottoms = tops, bottoms
        self._entries = self._spread_entries()

    def ways(self) -> tuple[tuple[Point, ...], ...]:
        """Return the way of every arc, from its source to its target."""
        return tuple([self._way(i) for i in range(len(self._arcs))])

    def _way(self, arc: int) -> tuple[Point, ...]:
        chain = self._layers.chains[arc]
        upper, lower = chain[0], chain[-1]
        if self._layers.cut[arc]:
            x, top = self._entries[arc], self._corners[lower][1]
            return ((x, self._tops[self._layers.ranks[lower]] - _STUB), (x, top))
        points: list[Point] = []
        if upper < len(self._vertices):
            vertex, (x, y) = self._vertices[upper], self._corners[upper]
            if self._layers.turned[arc]:
                at = x + vertex.width - min(8.0, vertex.width / 2)
            else:
                at = x + vertex.exits.get(self._arcs[arc].net, vertex.width / 2)
            points.append((at, y + vertex.height))
            points.append((at, self._bottoms[self._layers.ranks[upper]]))
        else:
            points.append((self._centers[upper], self._bottoms[self._layers.ranks[upper]]))
        for bend in chain[1:-1]:
            rank, x = self._layers.ranks[bend], self._centers[bend]
            points += [(x, self._tops[rank]), (x, self._bottoms[rank])]
        x = self._entries[arc]
        points += [(x, self._tops[self._layers.ranks[lower]]), (x, self._corners[lower][1])]
        way = _without_needless(points)
        return way[::-1] if self._layers.turned[arc] else way

    def _spread_entries(self) -> list[float]:
        """Return where each arc enters its lower end: at the port of its net, or spread over the top."""
        found = [0.0] * len(self._arcs)
        free: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for i, chain in enumerate(self._layers.chains):
            lower, arc = chain[-1], self._arcs[i]
            vertex = self._vertices[lower]
            if arc.enters and arc.net in vertex.entries and not self._layers.turned[i]:
                found[i] = self._corners[lower][0] + vertex.entries[arc.net]
            else:
                free[lower].append((self._exit(i, chain[-2]), i))
        for lower, arriving in free.items():
            vertex, (x, _) = self._vertices[lower], self._corners[lower]
            offsets = _beside(sorted(vertex.entries.values()), len(arriving), vertex.width)
            for offset, (_, i) in zip(offsets, sorted(arriving), strict=True):
                found[i] = x + offset
        return found

    def _exit(self, arc: int, upper: int) -> float:
        if upper >= len(self._vertices):
            return self._centers[upper]
        vertex = self._vertices[upper]
        return self._corners[upper][0] + vertex.exits.get(self._arcs[arc].net, vertex.width / 2)


def spread(count: int, width: float) -> list[float]:
    """Return places for ports on a side of a width, about its middle."""
    if count < 2:
        return [width / 2] * count
    apart = min(_SPREAD, max(width - 16, 0.0) / (count - 1))
    return [width / 2 + (i - (count - 1) / 2) * apart for i in range(count)]


def _beside(ports: Sequence[float], count: int, width: float) -> list[float]:
    """Return places for ends of edges on a side of a box, in the widest gap between the ports in it."""
    borders = [0.0, *ports, width]
    left, right = max(itertools.pairwise(borders), key=lambda gap: gap[1] - gap[0])
    return [left + offset for offset in spread(count, right - left)]


def _without_needless(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return a way without points that repeat, or that lie on a straight line down."""
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        if len(kept) > 1 and kept[-1][0] == kept[-2][0] == point[0]:
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)
