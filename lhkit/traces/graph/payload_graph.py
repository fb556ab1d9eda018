"""The dataflow of a payload: its ops inside of one another, and the values that go between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode, LegendEntry
from lhkit.model.payload_outline import OutlinedOp, PayloadOutline
from lhkit.model.trace_record import PayloadDelta
from lhkit.traces.graph.payload_ghosts import erased_nodes

MOST_OPS = 120
_MOST_COUNTED = 3

# What a step did to an op: sign and role, the first that holds.
_CREATED, _ERASED, _CHANGED, _MOVED = ("+", "created"), ("−", "erased"), ("~", "changed"), ("↕", "moved")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number for some of the ops of a payload, measured or derived.

    Attributes:
        name: What it is (``time``).
        unit: Its unit (``ms``).
        values: The number of each op, by id.
    """

    name: str
    unit: str
    values: Mapping[str, float]


def payload_flow(
    outline: PayloadOutline,
    *,
    title: str = "the payload",
    delta: PayloadDelta | None = None,
    before: PayloadOutline | None = None,
    quantity: Quantity | None = None,
    unfolded: Collection[str] = (),
    most_ops: int = MOST_OPS,
) -> FlowGraph:
    """Return the dataflow of a payload.

    Ops are nodes, those with others inside are boxes, arguments of blocks are nodes of their box. Boxes are
    opened from the outside in while no more than ``most_ops`` ops are shown; the others are folded and say what
    is inside. Bodies of linalg ops stay folded.

    Args:
        outline: The payload, with ids of ops where they are to be marked.
        title: What it is called.
        delta: What a step did: ops that it created (+), changed (~) and moved (↕) are marked.
        before: The payload before that step: what it erased (−) is shown beside what was there with it.
        quantity: A number of each op, shown as words and as depth of a colour.
        unfolded: Ids of ops (numbers in the outline as text, where ops have no ids) that are opened in any
            case; what is around them is, too.
        most_ops: How many ops are shown before the others fold.
    """
    return _Payload(outline, delta or PayloadDelta(), quantity).graph(title, before, unfolded, most_ops)


class _Payload:
    def __init__(self, outline: PayloadOutline, delta: PayloadDelta, quantity: Quantity | None) -> None:
        self._outline, self._delta, self._quantity = outline, delta, quantity
        self._inside: dict[int | None, list[int]] = defaultdict(list)
        self._keys = [op.id or str(i) for i, op in enumerate(outline.ops)]
        for i, op in enumerate(outline.ops):
            self._inside[op.parent].append(i)
        self._marks = {
            **dict.fromkeys(delta.moved, _MOVED),
            **dict.fromkeys(delta.changed, _CHANGED),
            **dict.fromkeys(delta.created, _CREATED),
        }
        self._numbers = quantity.values if quantity else {}
        self._most = max(self._numbers.values(), default=0.0)

    def graph(
        self, title: str, before: PayloadOutline | None, unfolded: Collection[str], most_ops: int
    ) -> FlowGraph:
        shown, opened = self._shown(unfolded, most_ops)
        homes = self._homes(shown)
        nodes: list[FlowNode] = []
        self._add_nodes(None, shown, opened, nodes)
        edges = self._edges(homes)
        if before is not None and self._delta.erased:
            known = {self._outline.ops[i].id: self._keys[home] for i, home in homes.items()}
            ghosts, more = erased_nodes(before, self._delta.erased, known, {self._keys[i] for i in opened})
            nodes += ghosts
            edges += more
        return FlowGraph(title, tuple(nodes), tuple(edges), self._legend(nodes))

    # Which ops are shown.

    def _shown(self, unfolded: Collection[str], most_ops: int) -> tuple[set[int], set[int]]:
        """Return the ops that are shown, and those of them that are opened, from the outside in."""
        wanted = self._around(unfolded)
        shown = set(self._inside[None])
        opened: set[int] = set()
        waiting = list(self._inside[None])
        for i in waiting:  # grows
            inside = self._inside[i]
            fits = len(shown) + len(inside) <= most_ops and not self._outline.ops[i].name.startswith("linalg.")
            if inside and (fits or i in wanted):
                opened.add(i)
                shown.update(inside)
                waiting.extend(inside)
        return shown, opened

    def _around(self, keys: Collection[str]) -> set[int]:
        found = set()
        for i, key in enumerate(self._keys):
            at: int | None = i if key in keys else None
            while at is not None:
                found.add(at)
                at = self._outline.ops[at].parent
        return found

    def _homes(self, shown: set[int]) -> dict[int, int]:
        """Return for each op the one that is shown for it: itself, or the folded one around it."""
        homes: dict[int, int] = {}
        for i, op in enumerate(self._outline.ops):
            homes[i] = i if i in shown or op.parent is None else homes[op.parent]
        return homes

    # Nodes.

    def _add_nodes(self, parent: int | None, shown: set[int], opened: set[int], nodes: list[FlowNode]) -> None:
        waiting = [i for i in reversed(self._inside[parent]) if i in shown]
        while waiting:
            i = waiting.pop()
            if i not in opened:
                nodes.append(self._leaf(i))
                continue
            nodes.append(self._node(i, ops=(self._outline.ops[i].id,)))
            nodes += self._arguments(i)
            waiting += reversed(self._inside[i])

    def _leaf(self, i: int) -> FlowNode:
        inside = self._all_inside(i)
        ids = tuple([self._outline.ops[j].id for j in (i, *inside)])
        # Nobody looks at bodies of named ops: no text has them.
        written = [j for j in inside if self._outline.ops[j].line is not None]
        return self._node(i, ops=ids, inside=inside, is_folded=bool(written))

    def _all_inside(self, i: int) -> list[int]:
        found = list(self._inside[i])
        for j in found:  # grows
            found.extend(self._inside[j])
        return found

    def _node(
        self, i: int, *, ops: tuple[str, ...], inside: Collection[int] = (), is_folded: bool = False
    ) -> FlowNode:
        op = self._outline.ops[i]
        sign, role = self._marks.get(op.id, ("", ""))
        details = [self._counts(inside)] if is_folded else [self._types(op)]
        if not sign and any(self._outline.ops[j].id in self._marks for j in inside):
            sign, role = _CHANGED
        number = self._numbers.get(op.id)
        return FlowNode(
            id=self._keys[i],
            title=" ".join(p for p in (op.name, op.symbol) if p),
            detail=" · ".join(d for d in details if d),
            parent=None if op.parent is None else self._keys[op.parent],
            sign=sign,
            role=role,
            hover=self._hover(op),
            ops=tuple(o for o in ops if o),
            is_folded=is_folded,
            heat=None if number is None else number / self._most if self._most else 0.0,
            quantity="" if number is None or self._quantity is None else f"{number:.4g} {self._quantity.unit}",
        )

    def _counts(self, inside: Collection[int]) -> str:
        """Return how many ops are inside, the most frequent, and how many of them a step touched."""
        ops = [self._outline.ops[j] for j in inside if self._outline.ops[j].line is not None]
        names = Counter(o.name for o in ops)
        parts = [
            f"{n} ×{count}" for n, count in sorted(names.items(), key=lambda p: (-p[1], p[0]))[:_MOST_COUNTED]
        ]
        touched = Counter(self._marks[o.id][0] for o in ops if o.id in self._marks)
        marks = " ".join(f"{sign}{count}" for sign, count in sorted(touched.items()))
        return (
            f"{len(ops)} ops {marks}".strip()
            + f": {', '.join(parts)}{', …' if len(names) > len(parts) else ''}"
        )

    def _types(self, op: OutlinedOp) -> str:
        types = dict.fromkeys(self._outline.values[v].type for v in op.results)
        return ", ".join(types)

    def _hover(self, op: OutlinedOp) -> str:
        values = self._outline.values
        place = f" in line {op.line}" if op.line is not None else ""
        results = [f"{values[v].name}: {values[v].type}" for v in op.results]
        said = {"+": "created", "~": "changed", "↕": "moved"}.get(self._marks.get(op.id, ("", ""))[0])
        return "\n".join([f"{op.name}{place}", *results, *([f"{said} by this step"] if said else [])])

    def _arguments(self, i: int) -> list[FlowNode]:
        values = self._outline.values
        found = []
        for block in self._outline.ops[i].blocks:
            if block.arguments:
                hover = "\n".join(f"{values[v].name}: {values[v].type}" for v in block.arguments)
                number = f" of ^bb{block.block}" if block.block else ""
                found.append(
                    FlowNode(
                        id=f"{self._keys[i]} {block.region} {block.block}",
                        title=f"◂ arguments{number}",
                        parent=self._keys[i],
                        hover=hover,
                    )
                )
        return found

    # Edges.

    def _edges(self, homes: Mapping[int, int]) -> list[FlowEdge]:
        sources: dict[int, tuple[str, str, str, int]] = {}
        for i, op in enumerate(self._outline.ops):
            home = homes[i]
            for n, v in enumerate(op.results):
                sources[v] = (self._keys[home], f"{i} {n}", op.id, home)
            for block in op.blocks:
                opened = home == i and any(homes[j] != i for j in self._inside[i][:1])
                at = f"{self._keys[i]} {block.region} {block.block}" if opened else self._keys[home]
                for n, v in enumerate(block.arguments):
                    sources[v] = (at, f"{n}", op.id, home)
        found: dict[tuple[str, int], FlowEdge] = {}
        for i, op in enumerate(self._outline.ops):
            target = self._keys[homes[i]]
            for v in op.operands:
                source, port, origin, _ = sources[v]
                if source == target or (target, v) in found:
                    continue
                value = self._outline.values[v]
                found[target, v] = FlowEdge(
                    source,
                    target,
                    port,
                    value.name,
                    role=self._edge_role(op.id),
                    hover=f"{value.name}: {value.type}",
                    ops=(origin,) if origin else (),
                )
        return list(found.values())

    def _edge_role(self, target: str) -> str:
        """Return the colour of what enters an op: that of a new op shows how it is wired in."""
        return "created" if self._marks.get(target) == _CREATED else ""

    def _legend(self, nodes: Collection[FlowNode]) -> tuple[LegendEntry, ...]:
        signs = {n.sign for n in nodes}
        words = ((_CREATED, "created"), (_ERASED, "erased"), (_CHANGED, "changed"), (_MOVED, "moved"))
        found = [LegendEntry(word, *mark) for mark, word in words if mark[0] in signs]
        if self._quantity is not None and self._numbers:
            name, unit = self._quantity.name, self._quantity.unit
            shares = (
                (0.0, f"{name}: 0 {unit}"),
                (0.5, f"{self._most / 2:.3g}"),
                (1.0, f"{self._most:.3g} {unit}"),
            )
            found += [LegendEntry(text, heat=share) for share, text in shares]
        return tuple(found)
