"""Dataflow graph of a payload: nested ops, and the values between them."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import PurePath

from lhkit.model.errors import usage_error
from lhkit.model.flow_graph import FlowEdge, FlowGraph, FlowNode, LegendEntry
from lhkit.model.ir_outline import OutlinedOp, PayloadOutline
from lhkit.model.payload import Payload
from lhkit.model.printable import counted
from lhkit.model.trace_record import DELTA_WORDS, PayloadDelta, Trace
from lhkit.traces.graph.folded_graph import MOST_NODES
from lhkit.traces.record.handle_history import work_of_step
from lhkit.traces.record.placed_ops import order_at
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import OutlinePayload, Source

_MOST_GHOSTS = 24


def erased_nodes(
    before: PayloadOutline, erased: Sequence[str], homes: Mapping[str, str], opened: Collection[str]
) -> tuple[list[FlowNode], list[FlowEdge]]:
    """Return ghost nodes and edges of erased ops; many erased ops are one node.

    ``homes`` maps remaining ops to nodes, ``opened`` are the nodes that are open boxes.
    """
    gone = set(erased)
    ops = [op for op in before.ops if op.id in gone and op.line is not None]
    # What was inside of an erased op is part of it.
    outer = [op for op in ops if op.parent is None or before.ops[op.parent].id not in gone]
    ghost = functools.partial(FlowNode, sign="−", role="erased", is_ghost=True)
    if len(outer) > _MOST_GHOSTS:
        counts, listed = _most_frequent(o.name for o in outer)
        title, hover = f"{len(outer)} ops erased", "\n".join(counts)
        return [ghost("erased", title, listed, hover=hover, ops=tuple(erased))], []
    inside = {op.id: op.id for op in outer}
    for op in before.ops:
        if op.parent is not None and (root := inside.get(before.ops[op.parent].id)) is not None:
            inside.setdefault(op.id, root)
    nodes = []
    for op in outer:
        around = homes.get(before.ops[op.parent].id) if op.parent is not None else None
        ids = tuple(each for each, root in inside.items() if root == op.id)
        parent, hover = around if around in opened else None, f"{op.name}\nerased by this step"
        nodes.append(ghost(f"erased {op.id}", op.name, parent=parent, hover=hover, ops=ids))
    return nodes, _edges_of(before, inside, homes)


def _most_frequent(names: Iterable[str]) -> tuple[list[str], str]:
    """Return the counts of names, the most frequent first, and the first of them in a line."""
    ranked = sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))
    counts = [f"{name} ×{count}" for name, count in ranked]
    return counts, ", ".join(counts[:_MOST_COUNTED]) + (", …" if len(counts) > _MOST_COUNTED else "")


def _edges_of(before: PayloadOutline, inside: Mapping[str, str], homes: Mapping[str, str]) -> list[FlowEdge]:
    """Return the edges of erased ops to ends that are erased too or still shown."""
    made = {v: op.id for op in before.ops for v in op.results}
    nodes = {**homes, **{op: f"erased {root}" for op, root in inside.items()}}
    found: dict[tuple[str, str, int], FlowEdge] = {}
    for op in before.ops:
        # What uses an op that is gone was given another value: its edge from the ghost would be a lie.
        for v in op.operands if op.id in inside else ():
            source, target = nodes.get(made.get(v, "")), nodes[op.id]
            if source is None or source == target:
                continue
            value = before.values[v]
            hover, ends = f"{value.name}: {value.type}, before this step", (source, target, f"erased {v}")
            edge = FlowEdge(*ends, value.name, role="erased", is_dead=True, hover=hover, ops=(made[v],))
            found.setdefault((source, target, v), edge)
    return list(found.values())


_MOST_COUNTED, _MOST_HOVERED = 3, 8
# They compute nothing, and have edges to half of the graph.
_PLACES = ("tensor.empty", "arith.constant", "ub.poison")

# Sign and role of an op by the effect of the step; the first that applies.
_CREATED, _ERASED, _CHANGED, _MOVED = DELTA_WORDS.items()


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number for some ops of a payload, by id: name (``time``), unit (``ms``), values."""

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
    most_ops: int = MOST_NODES,
) -> FlowGraph:
    """Return the dataflow graph of a payload.

    Ops are nodes, ops with regions boxes, block arguments nodes of their box. Boxes are opened from the outside
    in while at most ``most_ops`` ops are shown; folded ones show counts. Ops of one box that are alike share a
    node where that opens the box. Bodies of linalg ops stay folded. Constants and each ``tensor.empty`` that
    the step did not touch are left out: they compute nothing.

    Args:
        outline: The payload, with ids of ops where they are to be marked.
        title: Its name.
        delta: What a step did: created (+), changed (~) and moved (↕) ops are marked.
        before: The payload before that step, from which erased (−) ops are shown.
        quantity: A number of each op, shown in words and as a shade.
        unfolded: Ids of ops (numbers as text, where ops have no ids) that are opened in any case, with their
            parents.
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
        # Of ops that are alike, and share a node: the first of them.
        self._first: dict[int, int] = {}
        # The op that has a value as a result, and the one that has it as an argument of a block.
        self._makers = {v: i for i, op in enumerate(outline.ops) for v in op.results}
        self._owners = {v: i for i, op in enumerate(outline.ops) for b in op.blocks for v in b.arguments}

    def graph(
        self, title: str, before: PayloadOutline | None, unfolded: Collection[str], most_ops: int
    ) -> FlowGraph:
        shown, opened = self._shown(unfolded, most_ops)
        # The shown op that represents each op: itself, or the folded op around it.
        homes: dict[int, int] = {}
        for i, op in enumerate(self._outline.ops):
            homes[i] = i if i in shown or op.parent is None else homes[self._first.get(i, op.parent)]
        nodes = self._nodes(opened)
        edges = self._edges(homes)
        if before is not None and self._delta.erased:
            known = {self._outline.ops[i].id: self._keys[home] for i, home in homes.items()}
            ghosts, more = erased_nodes(before, self._delta.erased, known, {self._keys[i] for i in opened})
            nodes += ghosts
            edges += more
        kept, edges = _without_places(nodes, edges)
        return FlowGraph(title, tuple(kept), tuple(edges), self._legend(kept, len(nodes) - len(kept)))

    def _shown(self, unfolded: Collection[str], most_ops: int) -> tuple[set[int], set[int]]:
        """Return the ops that are shown, and those of them that are opened, from the outside in."""
        wanted = self._around(unfolded)
        shown = set(self._inside[None])
        opened: set[int] = set()
        waiting = list(self._inside[None])
        count = self._drawn(shown)
        for i in waiting:  # grows
            inside, alike = self._inside[i], dict[int, int]()
            if count + self._drawn(inside) > most_ops and i not in wanted:
                alike = self._alike(inside)
                inside = [j for j in inside if alike[j] == j]
            fits = count + self._drawn(inside) <= most_ops and not self._outline.ops[i].name.startswith(
                "linalg."
            )
            if inside and (fits or i in wanted):
                opened.add(i)
                shown.update(inside)
                waiting.extend(inside)
                count += self._drawn(inside)
                self._first |= {j: first for j, first in alike.items() if j != first}
        return shown, opened

    def _drawn(self, ops: Collection[int]) -> int:
        """Return how many of these ops have a node."""
        return sum(not self._is_left_out(i) for i in ops)

    def _is_left_out(self, i: int) -> bool:
        """Return whether an op is one of those that `_without_places` leaves out."""
        op = self._outline.ops[i]
        return op.name in _PLACES and op.id not in self._marks

    def _alike(self, inside: Sequence[int]) -> dict[int, int]:
        """Return for each op of a box the first that is like it: of its kind, its values from the same nodes.

        What uses the results of ops that are alike may be alike too, so a loop that was unrolled folds into its
        body, iteration by iteration.
        """
        found: dict[int, int] = {}
        first: dict[object, int] = {}

        def source(value: int) -> tuple[str, int]:
            if (maker := self._makers.get(value)) is None:
                return "block", self._owners.get(value, value)
            return ("", 0) if self._is_left_out(maker) else ("op", found.get(maker, maker))

        for i in inside:
            op = self._outline.ops[i]
            sources = tuple(map(source, op.operands))
            types = tuple(self._outline.values[v].type for v in op.results)
            is_alone = bool(op.blocks or op.symbol) or op.id in self._numbers
            kind = i if is_alone else (op.name, types, sources, self._marks.get(op.id))
            found[i] = first.setdefault(kind, i)
        return found

    def _around(self, keys: Collection[str]) -> set[int]:
        found = set()
        for i, key in enumerate(self._keys):
            at: int | None = i if key in keys else None
            while at is not None:
                found.add(at)
                at = self._outline.ops[at].parent
        return found

    def _nodes(self, opened: set[int]) -> list[FlowNode]:
        nodes: list[FlowNode] = []
        alike: defaultdict[int, list[int]] = defaultdict(list)
        for i, first in self._first.items():
            alike[first].append(i)
        waiting = self._inside[None][::-1]
        while waiting:
            i = waiting.pop()
            if i in alike:
                nodes.append(self._of_several(i, alike[i]))
            elif i in opened:
                nodes.append(self._node(i, ops=(self._outline.ops[i].id,)))
                nodes += self._arguments(i)
                waiting += reversed(self._inside[i])
            elif i not in self._first:
                nodes.append(self._leaf(i))
        return nodes

    def _of_several(self, first: int, others: Collection[int]) -> FlowNode:
        """Return the node of ops that are alike."""
        ids = tuple(self._outline.ops[i].id for i in (first, *others))
        node = self._node(first, ops=ids)
        hover = "\n".join(self._hover(self._outline.ops[i]) for i in (first, *others)[:_MOST_HOVERED])
        return dataclasses.replace(node, title=f"{node.title} ×{len(ids)}", hover=hover, is_folded=True)

    def _leaf(self, i: int) -> FlowNode:
        inside = list(self._inside[i])
        for j in inside:  # grows
            inside.extend(self._inside[j])
        ids = tuple([self._outline.ops[j].id for j in (i, *inside)])
        return self._node(i, ops=ids, inside=inside, is_folded=any(map(self._is_written, inside)))

    def _is_written(self, i: int) -> bool:
        """Return whether the text shows an op: bodies of named ops have no line, or that of the op itself."""
        op = self._outline.ops[i]
        return op.line is not None and (op.parent is None or op.line != self._outline.ops[op.parent].line)

    def _node(
        self, i: int, *, ops: tuple[str, ...], inside: Collection[int] = (), is_folded: bool = False
    ) -> FlowNode:
        op = self._outline.ops[i]
        sign, role = self._marks.get(op.id, ("", ""))
        types = dict.fromkeys(self._outline.values[v].type for v in op.results)
        if not sign and any(self._outline.ops[j].id in self._marks for j in inside):
            sign, role = _CHANGED
        number = self._numbers.get(op.id)
        return FlowNode(
            id=self._keys[i],
            title=" ".join(p for p in (op.name, op.symbol) if p),
            detail=self._counts(inside) if is_folded else ", ".join(types),
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
        """Return the counts of the most frequent nested ops, and of those that a step touched."""
        ops = [self._outline.ops[j] for j in inside if self._is_written(j)]
        _, listed = _most_frequent(o.name for o in ops)
        touched = Counter(self._marks[o.id][0] for o in ops if o.id in self._marks)
        marks = "".join(f" {sign}{count}" for sign, count in sorted(touched.items()))
        return f"{counted(len(ops), 'op')}{marks}: {listed}"

    def _hover(self, op: OutlinedOp) -> str:
        values = self._outline.values
        place = f" in line {op.line}" if op.line is not None else ""
        results = [f"{values[v].name}: {values[v].type}" for v in op.results]
        _, said = self._marks.get(op.id, ("", ""))
        return "\n".join([f"{op.name}{place}", *results, *([f"{said} by this step"] if said else [])])

    def _arguments(self, i: int) -> list[FlowNode]:
        values = self._outline.values
        found = []
        for block in self._outline.ops[i].blocks:
            if block.arguments:
                hover = "\n".join(f"{values[v].name}: {values[v].type}" for v in block.arguments)
                title = "◂ arguments" + (f" of ^bb{block.block}" if block.block else "")
                name = f"{self._keys[i]} {block.region} {block.block}"
                found.append(FlowNode(name, title, parent=self._keys[i], hover=hover))
        return found

    def _edges(self, homes: Mapping[int, int]) -> list[FlowEdge]:
        # Node, port and op of each value.
        sources: dict[int, tuple[str, str, str]] = {}
        for i, op in enumerate(self._outline.ops):
            home = self._keys[homes[i]]
            for n, v in enumerate(op.results):
                sources[v] = (home, f"{i} {n}", op.id)
            is_open = homes[i] == i and any(homes[j] != i for j in self._inside[i][:1])
            for block in op.blocks:
                at = f"{self._keys[i]} {block.region} {block.block}" if is_open else home
                for n, v in enumerate(block.arguments):
                    sources[v] = (at, f"{n}", op.id)
        found: dict[tuple[str, int], FlowEdge] = {}
        for i, op in enumerate(self._outline.ops):
            target = self._keys[homes[i]]
            for v in op.operands:
                source, port, origin = sources[v]
                if source == target or (target, v) in found:
                    continue
                value, ops = self._outline.values[v], (origin,) if origin else ()
                role = "created" if self._marks.get(op.id) == _CREATED else ""
                hover = f"{value.name}: {value.type}"
                found[target, v] = FlowEdge(source, target, port, value.name, role, hover=hover, ops=ops)
        return _bundled(found.values(), {self._keys[i] for i in self._first.values()})

    def _legend(self, nodes: Collection[FlowNode], left_out: int) -> tuple[LegendEntry, ...]:
        signs = {n.sign for n in nodes}
        found = [LegendEntry(word, sign, word) for sign, word in DELTA_WORDS.items() if sign in signs]
        if self._quantity is not None and self._numbers:
            name, unit = self._quantity.name, self._quantity.unit
            texts = (f"{name}: 0 {unit}", f"{self._most / 2:.3g}", f"{self._most:.3g} {unit}")
            found += [LegendEntry(text, heat=share) for text, share in zip(texts, (0.0, 0.5, 1.0), strict=True)]
        if left_out:
            alone = " that the step left alone" if self._marks else ""
            found.append(LegendEntry(f"not drawn: constants and tensor.empty{alone}"))
        return tuple(found)


# More values between two nodes are one edge: an op may have a result for each element of a vector.
_MOST_BESIDE = 4


def _bundled(edges: Iterable[FlowEdge], several: Set[str]) -> list[FlowEdge]:
    """Join the edges between two nodes where they are many, or where one of these is for ``several`` ops."""
    between: dict[tuple[str, str], list[FlowEdge]] = defaultdict(list)
    for edge in edges:
        between[edge.source, edge.target].append(edge)
    found = []
    for ends, beside in between.items():
        if len(beside) > (1 if several & set(ends) else _MOST_BESIDE):
            first, ops = beside[0], tuple(dict.fromkeys(op for edge in beside for op in edge.ops))
            label, hover = f"{len(beside)} values", "\n".join(edge.hover for edge in beside)
            beside = [dataclasses.replace(first, label=label, hover=hover, ops=ops)]  # noqa: PLW2901
        found += beside
    return found


def _without_places(
    nodes: Sequence[FlowNode], edges: Sequence[FlowEdge]
) -> tuple[list[FlowNode], list[FlowEdge]]:
    """Leave out what computes nothing, constants and destinations, unless the step made or changed it."""
    places = {n.id for n in nodes if n.title in _PLACES and not n.sign}
    kept = [e for e in edges if e.source not in places and e.target not in places]
    return [n for n in nodes if n.id not in places], kept


_MOST_OUTLINES = 32


def payload_flow_of(
    shown: Trace | Payload,
    step: int | None = None,
    *,
    quantity: Quantity | None = None,
    unfolded: Collection[str] = (),
    most_ops: int = MOST_NODES,
    worker: Worker | None = None,
) -> FlowGraph:
    """Return the dataflow graph of a payload, or of a trace's payload after a step with what the step did.

    Options are those of `payload_flow`; ``step`` defaults to the last one that left a payload.

    Raises:
        UsageError: The trace has no payload after that step.
        PayloadError: The text does not parse alone.
    """
    before = None
    if isinstance(shown, Payload):
        outline, title, delta = (
            payload_outline(shown, worker=worker),
            PurePath(shown.source).name,
            PayloadDelta(),
        )
    else:
        step = _last_step(shown) if step is None else step
        title = f"{PurePath(shown.payload.source).name} after step {step}"
        outline = outline_after(shown, step, worker=worker)
        delta, earlier = work_of_step(shown, step)
        if delta.erased and earlier is not None:
            before = outline_after(shown, earlier, worker=worker)
    return payload_flow(
        outline,
        title=title,
        delta=delta,
        before=before,
        quantity=quantity,
        unfolded=unfolded,
        most_ops=most_ops,
    )


def _last_step(trace: Trace) -> int:
    return trace.snapshots[-1].step if trace.snapshots else -1


def payload_outline(payload: Payload, *, worker: Worker | None = None) -> PayloadOutline:
    """Return the ops and values of a payload; its ops have no ids."""
    return _outline(payload.source, payload.text, worker or shared_worker())


def outline_after(trace: Trace, step: int | None = None, *, worker: Worker | None = None) -> PayloadOutline:
    """Return the ops and values of a trace's payload after a step (default: the last one with a payload).

    Ops have no ids where their order is not known, as in traces by a compiler binary.

    Raises:
        UsageError: The trace has no payload after that step.
        PayloadError: The text does not parse alone, as the copy of an alternative may not.
    """
    step = _last_step(trace) if step is None else step
    text = trace.snapshot_text(step)
    if text is None:
        raise usage_error(
            f"the trace has no payload after step {step}",
            "Steps that failed or never ran left none; step=-1 is the payload as given.",
        )
    outline = _outline(f"{trace.payload.source} after step {step}", text, worker or shared_worker())
    ids = order_at(trace, step)
    return outline if ids is None else _with_ids(outline, ids, trace)


@functools.lru_cache(maxsize=_MOST_OUTLINES)
def _outline(name: str, text: str, worker: Worker) -> PayloadOutline:
    return worker.ask(OutlinePayload(Source("payload", "payload", name, text.encode()))).value


def _with_ids(outline: PayloadOutline, ids: Sequence[str], trace: Trace) -> PayloadOutline:
    """Return an outline with ids, if its ops are those of the trace.

    Several modules, or a bare function, are parsed into a module around them, which has no id.
    """
    named = [o.name for o in outline.ops]
    for around in (0, 1):
        if named[around:] == [trace.op(i).name for i in ids]:
            known: list[OutlinedOp] = list(outline.ops[:around])
            known += [dataclasses.replace(o, id=i) for o, i in zip(outline.ops[around:], ids, strict=True)]
            return dataclasses.replace(outline, ops=tuple(known))
    return outline
