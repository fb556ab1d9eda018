"""Ops that a step erased, as ghosts among those that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from lhkit.model.flow_graph import FlowEdge, FlowNode
from lhkit.model.payload_outline import PayloadOutline

_MOST_GHOSTS = 24


def erased_nodes(
    before: PayloadOutline, erased: Sequence[str], homes: Mapping[str, str], opened: Collection[str]
) -> tuple[list[FlowNode], list[FlowEdge]]:
    """Return nodes for erased ops, and the edges that they had.

    Args:
        before: The payload before the step.
        erased: Ids of what it erased.
        homes: The nodes of the ops that are left, by id.
        opened: The nodes among them that are boxes.

    Returns:
        A node for each, in the box of what was around it if that is open; of many, one node in all.
    """
    gone = set(erased)
    ops = [op for op in before.ops if op.id in gone and op.line is not None]
    # What was inside of an erased op is part of it.
    outer = [op for op in ops if op.parent is None or before.ops[op.parent].id not in gone]
    if len(outer) > _MOST_GHOSTS:
        return [_summary([o.name for o in outer], erased)], []
    inside = {op.id: op.id for op in outer}
    for op in before.ops:
        if op.parent is not None and (root := inside.get(before.ops[op.parent].id)) is not None:
            inside.setdefault(op.id, root)
    nodes = []
    for op in outer:
        around = homes.get(before.ops[op.parent].id) if op.parent is not None else None
        ids = tuple(each for each, root in inside.items() if root == op.id)
        nodes.append(
            FlowNode(
                id=f"erased {op.id}",
                title=op.name,
                parent=around if around in opened else None,
                sign="−",
                role="erased",
                hover=f"{op.name}\nerased by this step",
                ops=ids,
                is_ghost=True,
            )
        )
    return nodes, _edges_of(before, inside, homes)


def _summary(names: Sequence[str], erased: Sequence[str]) -> FlowNode:
    counts = sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))
    return FlowNode(
        id="erased",
        title=f"{len(names)} ops erased",
        detail=", ".join(f"{name} ×{count}" for name, count in counts[:3]) + (", …" if len(counts) > 3 else ""),
        sign="−",
        role="erased",
        hover="\n".join(f"{name} ×{count}" for name, count in counts),
        ops=tuple(erased),
        is_ghost=True,
    )


def _edges_of(before: PayloadOutline, inside: Mapping[str, str], homes: Mapping[str, str]) -> list[FlowEdge]:
    """Return the edges from and to erased ops, whose other ends are erased too or still shown."""
    made = {v: (op.id, n) for op in before.ops for n, v in enumerate(op.results)}
    nodes = {**homes, **{op: f"erased {root}" for op, root in inside.items()}}
    found: dict[tuple[str, str, int], FlowEdge] = {}
    for op in before.ops:
        for v in op.operands:
            source = nodes.get(made[v][0]) if v in made else None
            target = nodes.get(op.id)
            # What uses an op that is gone was given another value: its edge from the ghost would be a lie.
            if source is None or target is None or source == target or op.id not in inside:
                continue
            value = before.values[v]
            found.setdefault(
                (source, target, v),
                FlowEdge(
                    source,
                    target,
                    f"erased {v}",
                    value.name,
                    role="erased",
                    is_dead=True,
                    hover=f"{value.name}: {value.type}, before this step",
                    ops=(made[v][0],),
                ),
            )
    return list(found.values())
