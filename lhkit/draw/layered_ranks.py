"""Layers of a graph: ranks, bends of long arcs, crossing reduction and horizontal coordinates."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

# With more bends than this, the longest arcs are cut.
_MOST_BENDS = 40_000
_SPANS = (400, 200, 100, 50, 25, 12, 6, 3)
# More vertices without arcs than this are spread over several layers.
_MOST_ALONE = 8
# Layers that are wider, in pixels, continue below, in the given order; of larger graphs they would be too many.
WIDEST, _MOST_BROKEN = 1100.0, 400


@dataclass(slots=True)
class Layers:
    """A graph in layers, whose arcs all go from one layer to the next.

    Attributes:
        ranks: The layer of each vertex; vertices from the given count on are bends.
        chains: For each given arc its vertices from top to bottom, below the bends shared with its net.
        cut: For each given arc, whether it is cut; it has no bends.
    """

    ranks: list[int]
    order: list[list[int]] = field(default_factory=list)
    arcs: list[tuple[int, int]] = field(default_factory=list)
    chains: list[tuple[int, ...]] = field(default_factory=list)
    turned: list[bool] = field(default_factory=list)
    cut: list[bool] = field(default_factory=list)


def layers_of(
    count: int,
    arcs: Sequence[tuple[int, int]],
    nets: Sequence[int],
    first: Iterable[int],
    last: Iterable[int],
    widths: Sequence[float] = (),
    widest: float = WIDEST,
) -> Layers:
    """Assign vertices to layers and order them with few crossings.

    ``first`` and ``last`` are vertices of a layer before or after all others. Arcs of one net and one source
    share their bends. By the ``widths`` of vertices a layer wider than ``widest`` is broken into several.
    """
    turned = _turned(count, arcs)
    forward = [(b, a) if back else (a, b) for (a, b), back in zip(arcs, turned, strict=True)]
    found = Layers(_ranks(count, forward, list(first), list(last), widths, widest), turned=turned)
    found.cut = _cut(found.ranks, forward, nets)
    _add_bends(found, forward, nets, turned)
    found.order = [[] for _ in range(max(found.ranks, default=-1) + 1)]
    for part in _parts(len(found.ranks), found.arcs):
        places = _places(part, found.ranks, found.arcs)
        own: dict[int, list[int]] = {}
        for v in sorted(part, key=lambda v: (places.get(v, 0.0), v)):
            own.setdefault(found.ranks[v], []).append(v)
        # Of a drawing and its mirror image that which has more of the given order.
        rising = [(a < b) - (a > b) for row in own.values() for a, b in _pairs(row, count)]
        for rank, row in own.items():
            found.order[rank] += row if sum(rising) >= 0 else row[::-1]
    _sort_leaves(found)
    return found


def _pairs(row: Iterable[int], count: int) -> Iterable[tuple[int, int]]:
    """Return the vertices of a layer that are beside one another, bends left out."""
    return itertools.pairwise(v for v in row if v < count)


def _sort_leaves(layers: Layers) -> None:
    """Give vertices that differ in nothing but their name the given order; no crossing is added."""
    above: dict[int, list[int]] = {}
    inner = {a for a, _ in layers.arcs}
    for a, b in layers.arcs:
        above.setdefault(b, []).append(a)
    for row in layers.order:
        alike: dict[tuple[int, ...], list[int]] = {}
        for i, v in enumerate(row):
            if v in above and v not in inner:
                alike.setdefault(tuple(sorted(above[v])), []).append(i)
        for places in alike.values():
            for i, v in zip(places, sorted(row[i] for i in places), strict=True):
                row[i] = v


def _turned(count: int, arcs: Sequence[tuple[int, int]]) -> list[bool]:
    """Return the back arcs of a depth-first search, whose reversal leaves no cycle."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for i, (a, b) in enumerate(arcs):
        leaving[a].append((i, b))
    turned = [False] * len(arcs)
    state = [0] * count  # 1: on the way, 2: done
    for start in range(count):
        if state[start]:
            continue
        state[start] = 1
        way = [(start, iter(leaving[start]))]
        while way:
            at, rest = way[-1]
            for i, to in rest:
                if state[to] == 1:
                    turned[i] = True
                elif state[to] == 0:
                    state[to] = 1
                    way.append((to, iter(leaving[to])))
                    break
            else:
                state[at] = 2
                way.pop()
    return turned


def _ranks(
    count: int,
    arcs: Sequence[tuple[int, int]],
    first: list[int],
    last: list[int],
    widths: Sequence[float],
    widest: float,
) -> list[int]:
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in arcs:
        after[a].append(b)
        before[b].append(a)
    start = 1 if first else 0
    ranks = [start] * count
    for v in first:
        ranks[v] = 0
    ordered = list(TopologicalSorter({v: set(before[v]) - {v} for v in range(count)}).static_order())
    for v in ordered:
        for w in after[v]:
            ranks[w] = max(ranks[w], ranks[v] + 1)
    # Sources of more arcs than they receive move down to their targets.
    for v in reversed(ordered):
        if after[v] and len(before[v]) < len(after[v]) and v not in first:
            ranks[v] = min(ranks[w] for w in after[v]) - 1
    alone = [v for v in range(count) if not after[v] and not before[v] and v not in first and v not in last]
    if len(alone) > _MOST_ALONE:
        columns = math.ceil(math.sqrt(2 * len(alone)))
        for i, v in enumerate(alone):
            ranks[v] = start + i // columns
    if widths and count <= _MOST_BROKEN:
        _break_layers(ranks, before, after, {*first, *last}, widths, widest)
    if last:
        lowest = max((r for v, r in enumerate(ranks) if v not in last), default=start - 1) + 1
        for v in last:
            ranks[v] = lowest
    return ranks


def _break_layers(
    ranks: list[int],
    before: Sequence[list[int]],
    after: Sequence[list[int]],
    ports: Collection[int],
    widths: Sequence[float],
    widest: float,
) -> None:
    """Move vertices of layers that are too wide down, the last ones first, and with them what comes after."""
    free = [v for v in range(len(ranks)) if v not in ports]
    full: dict[int, float] = {}
    for v in free:
        full[ranks[v]] = full.get(ranks[v], 0.0) + widths[v]
    if all(width <= widest for width in full.values()):
        return
    full, waiting = {}, {v: len(before[v]) for v in range(len(ranks))}
    ready, reached = [v for v, count in waiting.items() if not count], dict[int, int]()
    while ready:
        v = heapq.heappop(ready)
        wanted = ranks[v]
        if v not in ports:
            at = reached.get(wanted, wanted)  # behind those before it, also where there is room above
            while full.get(at, 0.0) and full[at] + widths[v] > widest:
                at += 1
            full[at] = full.get(at, 0.0) + widths[v]
            ranks[v] = reached[wanted] = at
        for w in after[v]:
            ranks[w] = max(ranks[w], ranks[v] + 1)
            waiting[w] -= 1
            if not waiting[w]:
                heapq.heappush(ready, w)
    for v in free:
        lowest = min((ranks[w] for w in after[v]), default=0) - 1
        if not before[v] and lowest > ranks[v] and full.get(lowest, 0.0) + widths[v] <= widest:
            full[lowest] = full.get(lowest, 0.0) + widths[v]
            ranks[v] = lowest


def _cut(ranks: Sequence[int], arcs: Sequence[tuple[int, int]], nets: Sequence[int]) -> list[bool]:
    """Return which arcs are cut: the longest, if there are too many bends."""
    spans = [ranks[b] - ranks[a] for a, b in arcs]
    for most in (max(spans, default=0), *_SPANS):
        longest: dict[tuple[int, int], int] = {}
        for (a, _), net, span in zip(arcs, nets, spans, strict=True):
            if span <= most:
                longest[a, net] = max(longest.get((a, net), 1), span)
        if sum(longest.values()) - len(longest) <= _MOST_BENDS:
            break
    return [span > most for span in spans]


def _add_bends(
    layers: Layers, arcs: Sequence[tuple[int, int]], nets: Sequence[int], turned: Sequence[bool]
) -> None:
    """Add a bend in every layer that an arc passes; arcs of a net share the bends of the longest."""
    trunks: dict[tuple[int, int], list[int]] = {}
    chains: dict[int, tuple[int, ...]] = {}
    joined: set[tuple[int, int]] = set()
    by_length = sorted(range(len(arcs)), key=lambda i: layers.ranks[arcs[i][0]] - layers.ranks[arcs[i][1]])
    for i in by_length:
        a, b = arcs[i]
        # A reversed arc has its source below, and shares no bends.
        key = (a, nets[i]) if not turned[i] else (-1 - i, nets[i])
        steps = layers.ranks[b] - layers.ranks[a]
        if layers.cut[i]:
            chains[i] = (a, b)
            continue
        trunk = trunks.get(key)
        if trunk is None:
            trunk = trunks[key] = [a, *range(len(layers.ranks), len(layers.ranks) + steps - 1)]
            layers.ranks.extend(range(layers.ranks[a] + 1, layers.ranks[b]))
            chains[i] = (*trunk, b)
        else:
            chains[i] = (trunk[steps - 1], b)
        joined.update(zip(chains[i], chains[i][1:], strict=False))
    layers.chains = [chains[i] for i in range(len(arcs))]
    layers.arcs = sorted(joined)


def _parts(count: int, arcs: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield the connected components; the layers have them side by side."""
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in arcs:
        near[a].append(b)
        near[b].append(a)
    seen: set[int] = set()
    for start in range(count):
        if start not in seen:
            part = [start]
            for v in part:  # grows
                if v not in seen:
                    seen.add(v)
                    part += near[v]
            yield sorted(set(part))


def _places(part: list[int], ranks: Sequence[int], arcs: Sequence[tuple[int, int]]) -> dict[int, float]:
    if len(part) < 3:
        return {}
    from fast_sugiyama import from_edges

    inside = set(part)
    own = [arc for arc in arcs if arc[0] in inside]
    # The package ranks by the longest way from the top. A chain beside the graph holds what has nothing above
    # it in its layer; without it the package would put that on top, and bends into every layer below.
    entered = {b for _, b in own}
    top = min(ranks[v] for v in part)
    hanging = [v for v in part if v not in entered and ranks[v] > top]
    depth = max((ranks[v] for v in hanging), default=top) - top
    chain = [len(ranks) + i for i in range(depth)]
    own += list(itertools.pairwise(chain))
    own += [(chain[ranks[v] - top - 1], v) for v in hanging]
    parts = from_edges(
        own, dummy_vertices=True, ranking_type="up", transpose=False, vertex_spacing=1.0, check_layout=False
    )
    # The package accepts any ids.
    return {int(v): x for positions, *_ in parts for v, (x, _) in positions}


# Horizontal coordinates: sweeps that move vertices towards their neighbours.


Order = Sequence[Sequence[int]]
_SWEEPS, _LEAST_SWEEPS, _MOST_MOVES, _STRAIGHT = 24, 4, 100_000, 8.0


def horizontal_centers(
    order: Order,
    arcs: Sequence[tuple[int, int]],
    widths: Sequence[float],
    gaps: Sequence[float],
    bends_from: int,
) -> list[float]:
    """Return the center of every vertex; those from ``bends_from`` on are bends, kept straight first.

    No layer is wider than the widest one is when packed.
    """
    near: tuple[list[list[int]], list[list[int]]] = ([[] for _ in widths], [[] for _ in widths])
    for a, b in arcs:
        near[0][b].append(a)
        near[1][a].append(b)
    packed = [_extent(layer, widths, gaps) for layer in order]
    width = max((each[-1] for each in packed), default=0.0)
    at = [0.0] * len(widths)
    for layer, (*centers, own) in zip(order, packed, strict=True):
        for v, x in zip(layer, centers, strict=True):
            at[v] = x + (width - own) / 2
    rows = list(zip(order, packed, strict=True))
    for sweep in range(min(_SWEEPS, max(_LEAST_SWEEPS, _MOST_MOVES // max(len(widths), 1)))):
        for layer, (*centers, own) in rows[:: -1 if sweep % 2 else 1]:
            wanted, weights = [], []
            for v, x in zip(layer, centers, strict=True):
                beside = near[sweep % 2][v]
                wanted.append((sum(at[u] for u in beside) / len(beside) if beside else at[v]) - x)
                is_straight = v >= bends_from and any(u >= bends_from for u in beside)
                weights.append(_STRAIGHT if is_straight else 1.0 if beside else 0.2)
            for v, x, moved in zip(layer, centers, _rising(wanted, weights), strict=True):
                at[v] = x + min(max(moved, 0.0), width - own)
    return at


def _extent(layer: Sequence[int], widths: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Return the centers of a layer that is packed from 0 on, and its width."""
    centers, at = [], 0.0
    for i, v in enumerate(layer):
        if i:
            at += widths[v] / 2 + (gaps[layer[i - 1]] + gaps[v]) / 2
        else:
            at = widths[v] / 2
        centers.append(at)
        at += widths[v] / 2
    return [*centers, at]


def _rising(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the rising numbers that are nearest to those wanted (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        mean, mass, count = value, weight, 1
        while pools and pools[-1][0] > mean:
            before, heavy, many = pools.pop()
            mean = (before * heavy + mean * mass) / (heavy + mass)
            mass, count = mass + heavy, count + many
        pools.append((mean, mass, count))
    return [mean for mean, _, count in pools for _ in range(count)]
