"""The payload ops of a trace in the text of a snapshot."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.model.span import Span
from lhkit.model.trace_json import read_order
from lhkit.model.trace_record import PayloadOp, Trace
from lhkit.traces.record.printed_ir import PrintedIr, Value, read_printed


@dataclass(frozen=True, slots=True)
class PlacedOps:
    """A printed payload with the ids of its ops.

    Attributes:
        ir: The payload.
        ids: The id of each op, or None.
        inside: Ids of nested ops that the text omits (terminators, bodies of named ops), by the number of the
            innermost printed op around them.
    """

    ir: PrintedIr
    ids: tuple[str | None, ...]
    inside: dict[int, tuple[str, ...]]

    def id_at(self, line: int) -> str | None:
        """Return the id of the op that a line belongs to, counted from 0."""
        owner = self.ir.owners[line]
        return None if owner < 0 else self.ids[owner]

    def parent_id(self, number: int) -> str | None:
        """Return the id of the op around an op."""
        parent = self.ir.ops[number].parent
        return None if parent < 0 else self.ids[parent]

    def named(self, values: Sequence[Value]) -> list[tuple[str | int, int]]:
        """Return values by the id of their op, to be compared with those of another text."""
        return [(self.ids[op] or op, number) for op, number in values]

    def by_meaning(self, values: Sequence[Value]) -> list[tuple[str | int, int]]:
        """Return values as `named` does, but constants by value: folding recreates them all the time."""
        ops = self.ir.ops
        return [
            (ops[op].shapes[0] if ops[op].name.endswith(".constant") else self.ids[op] or op, number)
            for op, number in values
        ]


def order_at(trace: Trace, step: int) -> tuple[str, ...] | None:
    """Return the ids of the payload ops after a step, outer before inner; None where that is not known."""
    snapshots = {s.step: s for s in trace.snapshots}
    at = snapshots.get(step)
    while at is not None and at.ops is None and not at.edits and at.base is not None:
        at = snapshots.get(at.base)
    return None if at is None or at.ops is None else read_order(at.ops)


class SameTrace:
    """A trace as a cache key, compared by identity: comparing by value is slow."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameTrace) and other.trace is self.trace

    def __hash__(self) -> int:
        return id(self.trace)


def place_ops(trace: Trace, step: int) -> PlacedOps | None:
    """Return the snapshot after a step with the ids of its ops; None if there is none."""
    return _place_ops(SameTrace(trace), step)


@functools.lru_cache(maxsize=4)
def _place_ops(same: SameTrace, step: int) -> PlacedOps | None:
    trace = same.trace
    text, order = trace.snapshot_text(step), order_at(trace, step)
    if text is None or order is None:
        return None
    return _Placing(trace, order).place(read_printed(text))


def named_as_copies(trace: Trace, old: PlacedOps, new: PlacedOps) -> PlacedOps:
    """Return a payload with the ids of its ops replaced by those of their copies in ``new``."""
    born = trace.op(new.ids[0] or "").born
    copies: dict[str | None, str] = {}
    for op in trace.op_records:
        if op.born == born and len(op.derived_from) == 1:
            copies.setdefault(op.derived_from[0], op.id)
    inside = {at: tuple(copies.get(i, i) for i in those) for at, those in old.inside.items()}
    return PlacedOps(old.ir, tuple(copies.get(i, i) for i in old.ids), inside)


class _Placing:
    """Aligns a text with the ids of its ops in order."""

    def __init__(self, trace: Trace, order: Sequence[str]) -> None:
        self._order = order
        self._records = [trace.op(each) for each in order]
        # Only where an op was first seen is known of these.
        self._moved = {i for s in trace.step_records for i in s.payload_delta.moved}

    def place(self, ir: PrintedIr) -> PlacedOps:
        ids: list[str | None] = []
        number: dict[str | None, int] = {}
        inside: dict[int, list[str]] = {}
        at = 0
        for op in ir.ops:
            around = ids[op.parent] if op.parent >= 0 else None
            found = self._find(at, op.name, around)
            if found is None:
                ids.append(None)
                continue
            if found > at:
                self._leave_out(range(at, found), number, inside)
            number[self._order[found]] = len(ids)
            ids.append(self._order[found])
            at = found + 1
        self._leave_out(range(at, len(self._order)), number, inside)
        return PlacedOps(ir, tuple(ids), {op: tuple(those) for op, those in inside.items()})

    def _find(self, at: int, name: str, around: str | None) -> int | None:
        """Return the next place in the order of an op with a printed name and a parent."""
        for place in range(at, len(self._order)):
            record = self._records[place]
            if not (record.name == name or record.name.endswith(f".{name}")):
                continue
            if record.parent == around or around is None or record.id in self._moved:
                return place
        return None

    def _leave_out(self, places: range, number: dict[str | None, int], inside: dict[int, list[str]]) -> None:
        """Record which printed op contains each op that the text omits."""
        for place in places:
            # One that was moved lies elsewhere than it was first seen: with the op before it.
            owner = number.get(self._records[place].parent, number.get(self._order[place - 1]))
            if owner is not None:
                number[self._order[place]] = owner
                inside.setdefault(owner, []).append(self._order[place])


def source_places(trace: Trace) -> list[Span | None]:
    """Return the source place of every payload op, in the order of the records.

    A derived op has the place of its first origin; None if that has none.
    """
    places: dict[str, Span | None] = {}
    for op in trace.op_records:
        place = op.source
        if place is None and op.derived_from:
            place = places.get(op.derived_from[0])
        places[op.id] = place
    return list(places.values())


def source_place(trace: Trace, op: PayloadOp) -> Span | None:
    """Return the source place of one payload op, as `source_places` does for all."""
    while op.source is None and op.derived_from:
        op = trace.op(op.derived_from[0])
    return op.source


def op_in_words(trace: Trace, op_id: str) -> str:
    """Return an op's name, with its source place where that is known."""
    op = trace.op(op_id)
    place = source_place(trace, op)
    return f"{op.name} of {place}" if place else op.name
