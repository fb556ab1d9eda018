"""Layered (Sugiyama) layout of compound graphs, from the inside out.

A laid-out box is a vertex of the enclosing box; edges enter and leave it at ports in its top and bottom. Edges
move sideways only between layers, where there are no nodes.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from lhkit.draw.layered_ranks import WIDEST, Layers, horizontal_centers, layers_of
from lhkit.draw.svg import fitted, text_width
from lhkit.model.flow_graph import FlowGraph, FlowNode

Point = tuple[float, float]
Net = Hashable

_GAP, _BEND_GAP = 22.0, 12.0
_LAYER_GAP, _WIDEST_LAYER_GAP, _GAP_AN_ARC = 26.0, 110.0, 1.6
_SPREAD = 24.0
# Length of the stub of an edge that is cut; shorter than the gap between layers.
_STUB = 16.0
_ROUNDING = 0.01


@dataclass(slots=True)
class Vertex:
    """A vertex of a layer: a node, a laid-out box, or a port of the enclosing box.

    Attributes:
        below: Room for the labels of its ports.
        entries: Net → x at which it enters, from the left; other nets are spread over the top.
        exits: Net → x at which it leaves, from the left.
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
    """Coordinates: corners of vertices, routes of arcs, the total size."""

    corners: tuple[Point, ...]
    ways: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def place(
    vertices: Sequence[Vertex],
    arcs: Sequence[Arc],
    first: Sequence[int],
    last: Sequence[int],
    widest: float = WIDEST,
) -> Placed:
    """Lay out the inside of a box; arcs of one net from one vertex share their route as far as possible."""
    nets = {net: i for i, net in enumerate(dict.fromkeys(a.net for a in arcs))}
    ends = [(a.source, a.target) for a in arcs]
    widths = [v.width for v in vertices]
    rooms = [w + _GAP for w in widths]
    layers = layers_of(len(vertices), ends, [nets[a.net] for a in arcs], first, last, rooms, widest)
    bends = len(layers.ranks) - len(vertices)
    widths += [1.0] * bends
    gaps = [_GAP if v.height else _BEND_GAP for v in vertices] + [_BEND_GAP] * bends
    centers = horizontal_centers(layers.order, layers.arcs, widths, gaps, len(vertices))
    left = min((c - w / 2 for c, w in zip(centers, widths, strict=True)), default=0.0)
    centers = [c - left for c in centers]
    tops, bottoms = _heights(layers, vertices)
    corners = []
    for v, each in enumerate(vertices):
        rank = layers.ranks[v]
        room = bottoms[rank] - tops[rank] - each.height - each.below
        # The highest vertex fills its layer up to rounding, which must not reverse the end of an edge.
        y = tops[rank] + (room / 2 if room > _ROUNDING else 0.0)
        corners.append((centers[v] - each.width / 2, y))
    router = _Router(layers, vertices, arcs, centers, corners, tops, bottoms)
    ways = tuple(router.way(i, x) for i, x in enumerate(router.spread_entries()))
    width = max((c + w / 2 for c, w in zip(centers, widths, strict=True)), default=0.0)
    return Placed(tuple(corners), ways, width, bottoms[-1] if bottoms else 0.0)


def _heights(layers: Layers, vertices: Sequence[Vertex]) -> tuple[list[float], list[float]]:
    """Return top and bottom of every layer; gaps grow with the number of arcs in them."""
    between = Counter(layers.ranks[a] for a, _ in layers.arcs)
    tops, bottoms, at = [], [], 0.0
    for rank, layer in enumerate(layers.order):
        height = max((vertices[v].height + vertices[v].below for v in layer if v < len(vertices)), default=0.0)
        tops.append(at)
        bottoms.append(at + height)
        at += height + min(_LAYER_GAP + _GAP_AN_ARC * between[rank], _WIDEST_LAYER_GAP)
    return tops, bottoms


@dataclass(frozen=True, slots=True)
class _Router:
    """Routes of arcs: straight down through layers, sideways between them."""

    layers: Layers
    vertices: Sequence[Vertex]
    arcs: Sequence[Arc]
    centers: Sequence[float]
    corners: Sequence[Point]
    tops: Sequence[float]
    bottoms: Sequence[float]

    def way(self, arc: int, entry: float) -> tuple[Point, ...]:
        chain = self.layers.chains[arc]
        upper, lower = chain[0], chain[-1]
        if self.layers.cut[arc]:
            return ((entry, self.tops[self.layers.ranks[lower]] - _STUB), (entry, self.corners[lower][1]))
        at = self._exit(arc, upper)
        points: list[Point] = []
        if upper < len(self.vertices):
            vertex, (x, y) = self.vertices[upper], self.corners[upper]
            if self.layers.turned[arc]:
                at = x + vertex.width - min(8.0, vertex.width / 2)
            points.append((at, y + vertex.height))
        points.append((at, self.bottoms[self.layers.ranks[upper]]))
        for bend in chain[1:-1]:
            rank, x = self.layers.ranks[bend], self.centers[bend]
            points += [(x, self.tops[rank]), (x, self.bottoms[rank])]
        points += [(entry, self.tops[self.layers.ranks[lower]]), (entry, self.corners[lower][1])]
        way = _without_needless(points)
        return way[::-1] if self.layers.turned[arc] else way

    def spread_entries(self) -> list[float]:
        """Return the x at which each arc enters its target: the port of its net, or spread over the top."""
        found = [0.0] * len(self.arcs)
        free: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for i, chain in enumerate(self.layers.chains):
            lower, arc = chain[-1], self.arcs[i]
            vertex = self.vertices[lower]
            if arc.enters and arc.net in vertex.entries and not self.layers.turned[i]:
                found[i] = self.corners[lower][0] + vertex.entries[arc.net]
            else:
                free[lower].append((self._exit(i, chain[-2]), i))
        for lower, arriving in free.items():
            vertex, (x, _) = self.vertices[lower], self.corners[lower]
            offsets = _beside(sorted(vertex.entries.values()), len(arriving), vertex.width)
            for offset, (_, i) in zip(offsets, sorted(arriving), strict=True):
                found[i] = x + offset
        return found

    def _exit(self, arc: int, upper: int) -> float:
        if upper >= len(self.vertices):
            return self.centers[upper]
        vertex = self.vertices[upper]
        return self.corners[upper][0] + vertex.exits.get(self.arcs[arc].net, vertex.width / 2)


def spread(count: int, width: float) -> list[float]:
    """Return evenly spaced ports around the middle of a side."""
    if count < 2:
        return [width / 2] * count
    apart = min(_SPREAD, max(width - 16, 0.0) / (count - 1))
    return [width / 2 + (i - (count - 1) / 2) * apart for i in range(count)]


def _beside(ports: Sequence[float], count: int, width: float) -> list[float]:
    """Return places for edge ends in the widest gap between the ports of a side."""
    borders = [0.0, *ports, width]
    left, right = max(itertools.pairwise(borders), key=lambda gap: gap[1] - gap[0])
    return [left + offset for offset in spread(count, right - left)]


def _without_needless(points: Sequence[Point]) -> tuple[Point, ...]:
    """Drop points that repeat or lie on a vertical segment."""
    kept: list[Point] = []
    for point, _ in itertools.groupby(points):
        if len(kept) > 1 and kept[-1][0] == kept[-2][0] == point[0]:
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)


_MOST_LAYOUTS = 16
TITLE_SIZE, DETAIL_SIZE, LABEL_SIZE = 11.5, 10.0, 9.5
_MOST_TITLE, _MOST_DETAIL, _MOST_LABEL = 260.0, 260.0, 80.0
_TITLE_HEIGHT, _DETAIL_HEIGHT, _PAD = 16.0, 13.0, 9.0
_LABEL_HEIGHT, _LABEL_LEFT = 13.0, 4.0
_BOX_PAD, _MARGIN = 12.0, 12.0
_KEPT_END = 3
_TITLE = ("title", "")


@dataclass(frozen=True, slots=True)
class NodePlace:
    """A node with its fitted texts and its rectangle in pixels; ``depth`` is the number of enclosing boxes."""

    node: FlowNode
    title: str
    detail: str
    x: float
    y: float
    width: float
    height: float
    depth: int
    is_box: bool


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """An edge label: left end of its base line, and an edge that it names."""

    text: str
    x: float
    y: float
    edge: int


@dataclass(frozen=True, slots=True)
class Route:
    """A segment of the route of edges, usually from top to bottom.

    Attributes:
        arrives: Whether the edges end here; else they continue behind the port of a box.
    """

    points: tuple[Point, ...]
    edges: tuple[int, ...]
    arrives: bool


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """A graph with coordinates; boxes precede their contents."""

    graph: FlowGraph
    width: float
    height: float
    nodes: tuple[NodePlace, ...]
    routes: tuple[Route, ...]
    labels: tuple[LabelPlace, ...]


@functools.lru_cache(maxsize=_MOST_LAYOUTS)
def layout(graph: FlowGraph, widest: float = WIDEST) -> GraphLayout:
    """Lay out a graph whose boxes precede their contents; memoized by value.

    Nodes side by side are together no wider than ``widest``; edges beside them add to that. No two nodes
    overlap, the contents of a box lie in its rectangle, and no edge crosses a foreign node. Beyond tens of
    thousands of bends the longest edges are cut: only their ends are drawn.
    """
    return _Layouter(graph, widest).layout()


class _Layouter:
    def __init__(self, graph: FlowGraph, widest: float) -> None:
        self._graph, self._widest = graph, widest
        self._nodes = {n.id: n for n in graph.nodes}
        self._children: dict[str | None, list[str]] = defaultdict(list)
        for node in graph.nodes:
            self._children[node.parent].append(node.id)
        self._nets: dict[str, list[Net]] = defaultdict(list)
        self._labels: dict[Net, tuple[str, int]] = {}
        # For each box, its edges between (kind, name) of vertices: nodes, and ports in top and bottom.
        self._arcs: dict[str | None, dict[tuple[object, object, Net, bool], list[int]]] = defaultdict(dict)
        self._ports: dict[str | None, dict[tuple[str, Net], None]] = defaultdict(dict)
        for i in range(len(graph.edges)):
            self._add_edge(i)
        for nets in self._nets.values():
            nets.sort(key=lambda net: (len(net[1]), net))  # type: ignore[index]
        self._vertices: dict[str, Vertex] = {}
        self._inside: dict[str | None, tuple[Placed, list[object]]] = {}
        # For each box the height above what is inside, and how much of the inside is a title beside ports.
        self._heads: dict[str | None, tuple[float, float]] = {}

    def layout(self) -> GraphLayout:
        for node in reversed(self._graph.nodes):
            self._measure(node)
        placed = self._place(None, Vertex(0.0, 0.0))
        width, height = placed.width + 2 * _MARGIN, placed.height + 2 * _MARGIN
        return GraphLayout(self._graph, width, height, *self._gathered())

    # Edges become arcs in the boxes that they pass.

    def _add_edge(self, i: int) -> None:
        edge = self._graph.edges[i]
        net = (edge.source, edge.port, edge.is_dead)
        if net not in self._labels:
            self._labels[net] = (edge.label, i)
            self._nets[edge.source].append(net)
        up, down = self._boxes(edge.source), self._boxes(edge.target)
        if edge.source in down or edge.target in up:
            # From a box to what is inside of it, or back: from or to its border.
            common = edge.source if edge.source in down else edge.target
        else:
            common = next(box for box in up if box in down)  # type: ignore[assignment]
        out = [edge.source, *up[: up.index(common)]] if common in up else []
        into = [edge.target, *down[: down.index(common)]] if common in down else []
        is_inside = common in (edge.source, edge.target)
        for inner, box in zip(out, [*out[1:], common] if common == edge.target else out[1:], strict=False):
            self._ports[box]["out", net] = None
            self._join(box, inner, ("out", net), net, False, i)
        for inner, box in zip(into, [*into[1:], common] if common == edge.source else into[1:], strict=False):
            self._ports[box]["in", net] = None
            self._join(box, ("in", net), inner, net, inner != edge.target, i)
        if not is_inside:
            self._join(common, out[-1], into[-1], net, into[-1] != edge.target, i)

    def _join(self, box: str | None, a: object, b: object, net: Net, enters: bool, edge: int) -> None:
        self._arcs[box].setdefault((a, b, net, enters), []).append(edge)

    def _boxes(self, node: str) -> list[str | None]:
        """Return the boxes around a node, the innermost first and None for the whole graph last."""
        found: list[str | None] = []
        at = self._nodes[node].parent
        while at is not None:
            found.append(at)
            at = self._nodes[at].parent
        return [*found, None]

    # Sizes, innermost first.

    def _measure(self, node: FlowNode) -> None:
        title, detail = self._texts(node)
        text = max(text_width(title, TITLE_SIZE), text_width(detail, DETAIL_SIZE))
        head = _PAD + _TITLE_HEIGHT + (_DETAIL_HEIGHT if detail else 0.0)
        nets = self._nets[node.id]
        labels = [_shortened(self._labels[net][0]) for net in nets]
        rooms = [text_width(label, LABEL_SIZE) + 2 * _LABEL_LEFT + 4 for label in labels]
        width = text + 2 * _PAD
        height = head + _PAD - 4
        vertex = Vertex(width, height, _LABEL_HEIGHT if any(labels) else 0.0)
        if node.id in self._children:
            placed = self._place(node.id, Vertex(text, head))
            vertex.width = max(width, placed.width + 2 * _BOX_PAD)
            vertex.height = self._heads[node.id][0] + placed.height + _BOX_PAD
        vertex.width = max(vertex.width, sum(rooms) if len(rooms) > 1 else 2 * sum(rooms))
        if node.id in self._children:
            self._add_ports(node.id, vertex)
        vertex.exits.update(zip(nets, _exits(vertex.width, rooms, any(labels)), strict=True))
        self._vertices[node.id] = vertex

    def _texts(self, node: FlowNode) -> tuple[str, str]:
        title = f"{node.sign} {node.title}" if node.sign else node.title
        detail = " · ".join(t for t in (node.detail, node.quantity) if t)
        return fitted(title, _MOST_TITLE, TITLE_SIZE), fitted(detail, _MOST_DETAIL, DETAIL_SIZE)

    def _add_ports(self, box: str, vertex: Vertex) -> None:
        placed, keys = self._inside[box]
        left = (vertex.width - placed.width) / 2
        for key, (x, _) in zip(keys, placed.corners, strict=True):
            if isinstance(key, tuple) and key != _TITLE:
                kind, net = key
                (vertex.entries if kind == "in" else vertex.exits)[net] = left + x + 0.5

    def _place(self, box: str | None, title: Vertex) -> Placed:
        """Lay out the inside of a box; with edges from above its title is a vertex, so that they avoid it."""
        ports = self._ports[box]
        is_entered = any(kind == "in" for kind, _ in ports)
        keys: list[object] = [*([_TITLE] if is_entered else []), *self._children[box], *ports]
        numbers = {key: i for i, key in enumerate(keys)}
        vertices = [
            title if k == _TITLE else self._vertices[k] if isinstance(k, str) else Vertex(1.0, 0.0)
            for k in keys
        ]
        arcs = [Arc(numbers[a], numbers[b], net, enters) for a, b, net, enters in self._arcs[box]]
        first = [numbers[k] for k in keys if isinstance(k, tuple) and k[0] in ("in", "title")]
        last = [numbers[k] for k in ports if k[0] == "out"]
        self._heads[box] = (0.0, title.height) if is_entered else (title.height, 0.0)
        around = 0 if box is None else len(self._boxes(box))
        placed = place(vertices, arcs, first, last, self._widest - 2 * (_MARGIN + _BOX_PAD * around))
        self._inside[box] = (placed, keys)
        return placed

    # Coordinates, outermost first.

    def _gathered(self) -> tuple[tuple[NodePlace, ...], tuple[Route, ...], tuple[LabelPlace, ...]]:
        nodes: dict[str, NodePlace] = {}
        routes: list[Route] = []
        for box in (None, *[n.id for n in self._graph.nodes if n.id in self._children]):
            placed, keys = self._inside[box]
            left, top, depth = _MARGIN, _MARGIN, 0
            if box is not None:
                around = nodes[box]
                left = around.x + (around.width - placed.width) / 2
                top, depth = around.y + self._heads[box][0], around.depth + 1
            for key, (x, y) in zip(keys, placed.corners, strict=True):
                if isinstance(key, str):
                    node, vertex = self._nodes[key], self._vertices[key]
                    size = (vertex.width, vertex.height)
                    is_box = key in self._children
                    nodes[key] = NodePlace(node, *self._texts(node), left + x, top + y, *size, depth, is_box)
            for ((a, b, _, _), edges), way in zip(self._arcs[box].items(), placed.ways, strict=True):
                points = [(left + x, top + y) for x, y in way]
                routes.append(self._route(points, a, b, edges, nodes.get(box or "")))
        labels = [each for n in self._graph.nodes for each in self._label_places(nodes[n.id])]
        return tuple([nodes[n.id] for n in self._graph.nodes]), tuple(routes), tuple(labels)

    def _route(
        self, points: list[Point], source: object, target: object, edges: list[int], box: NodePlace | None
    ) -> Route:
        """Return a segment of a route; ports are extended to the border of their box."""
        if box is not None:
            above, beside = self._heads[box.node.id]
            top = box.y + above
            placed = self._inside[box.node.id][0]
            if points[0][1] <= top + beside and not isinstance(source, str):
                points.insert(0, (points[0][0], box.y))
            if points[-1][1] == top + placed.height and not isinstance(target, str):
                points.append((points[-1][0], box.y + box.height))
        to = self._graph.edges[edges[0]].target
        arrives = target == to or (box is not None and box.node.id == to)
        return Route(tuple(points), tuple(edges), arrives)

    def _label_places(self, at: NodePlace) -> Iterator[LabelPlace]:
        for net in self._nets[at.node.id]:
            label, edge = self._labels[net]
            if label:
                x = at.x + self._vertices[at.node.id].exits[net] + _LABEL_LEFT
                yield LabelPlace(_shortened(label), x, at.y + at.height + LABEL_SIZE, edge)


def _shortened(label: str) -> str:
    """Shorten a label at its start: names of similar values differ at the end."""
    if text_width(label, LABEL_SIZE) <= _MOST_LABEL:
        return label
    end = label[-_KEPT_END:]
    return fitted(label, _MOST_LABEL - text_width(end, LABEL_SIZE), LABEL_SIZE) + end


def _exits(width: float, rooms: list[float], is_labelled: bool) -> list[float]:
    """Return the x of the exits of a node, with room for the labels on their right."""
    if len(rooms) < 2 or not is_labelled:
        return spread(len(rooms), width)
    lefts = itertools.accumulate(rooms[:-1], initial=(width - sum(rooms)) / 2)
    return [left + _LABEL_LEFT for left in lefts]
