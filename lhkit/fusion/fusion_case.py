"""Two ops of a traced payload: their copies in each snapshot, the loops around them, and the values between them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.handle_history import PayloadHistory, states_before
from lhkit.traces.record.placed_ops import PlacedOps, place_ops

LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while", "affine.for", "affine.parallel")
# What these read is a result of the op around them.
_YIELDS = ("scf.yield", "tensor.parallel_insert_slice", "scf.forall.in_parallel", "affine.yield", "scf.reduce")
# Made by tiling beside the tiled op, with the same origin.
_AROUND = ("scf.", "affine.", "tensor.", "arith.constant", "func.", "ub.", "memref.")
_MAP = re.compile(r"affine_map<\((.*?)\)(?:\[.*?\])? -> \((.*?)\)>")


@dataclass(frozen=True)
class FusionCase:
    """A producer and a consumer, by op id, in a trace."""

    trace: Trace
    producer: str
    consumer: str

    @cached_property
    def history(self) -> PayloadHistory:
        """The history of the trace's payload ops."""
        return PayloadHistory(self.trace)

    @cached_property
    def kin(self) -> dict[str, set[str]]:
        """For each of the two, its id and those of all ops derived from it."""
        return {
            op: {op, *(o.id for o in self.history.descendants([op]))} for op in (self.producer, self.consumer)
        }

    @cached_property
    def payloads(self) -> list[tuple[int, PlacedOps]]:
        """The payload after each step that changed it, from the first that has both ops."""
        found = []
        for snapshot in self.trace.snapshots:
            delta = self.trace.step_records[snapshot.step].payload_delta if snapshot.step >= 0 else None
            if delta is None or delta.created or delta.erased or delta.changed or delta.moved:
                placed = place_ops(self.trace, snapshot.step)
                if placed and (found or {self.producer, self.consumer} <= {*placed.ids}):
                    found.append((snapshot.step, placed))
        return found

    @property
    def first(self) -> PlacedOps:
        """The first payload that has both ops."""
        return self.payloads[0][1]

    @property
    def last(self) -> PlacedOps:
        """The payload at the end."""
        return self.payloads[-1][1]

    def number(self, op: str) -> int:
        """Return the number of one of the two in the first payload."""
        return self.first.ids.index(op)

    def instances(self, placed: PlacedOps, op: str) -> list[int]:
        """Return what an op is now, by number: ops of its name made from it, else what else was made from it."""
        kin = [n for n, i in enumerate(placed.ids) if i is not None and i in self.kin[op]]
        name = self.trace.op(op).name
        for names in ((name,), ("linalg.",)):
            if same := [n for n in kin if placed.ir.ops[n].name.startswith(names)]:
                return same
        return [n for n in kin if not placed.ir.ops[n].name.startswith(_AROUND)]

    def before(self, step: int) -> PlacedOps:
        """Return the payload that a step found."""
        ended = {s.index: at for at, s in enumerate(self.trace.steps_by_end())}
        now = ended[step]
        earlier = [placed for at, placed in self.payloads if at < 0 or (at != step and ended[at] < now)]
        return earlier[-1] if earlier else self.first

    def holds(self, step: TraceStep, operand: int, op: str) -> bool:
        """Return whether an operand of a step pointed to an op or to what was made from it."""
        payload = self.payload_of(step, operand)
        return payload is not None and not self.kin[op].isdisjoint(payload)

    def payload_of(self, step: TraceStep, operand: int) -> list[str] | None:
        """Return the ops that an operand of a step pointed to; None for a dead handle or no such operand."""
        if operand >= len(step.operands):
            return None
        state = states_before(self.trace, step.index).get(step.operands[operand].handle)
        if state is None or state.state == "invalid":
            return None
        return [r for r in state.payload if isinstance(r, str)]


def around(placed: PlacedOps, number: int) -> list[int]:
    """Return the ops around an op, innermost first."""
    found = []
    while (number := placed.ir.ops[number].parent) >= 0:
        found.append(number)
    return found


def loops_around(placed: PlacedOps, number: int) -> list[int]:
    """Return the loops around an op, innermost first."""
    return [n for n in around(placed, number) if placed.ir.ops[n].name in LOOPS]


def function_of(placed: PlacedOps, number: int) -> int:
    """Return the function around an op, -1 if there is none."""
    return next((n for n in around(placed, number) if placed.ir.ops[n].name.endswith("func.func")), -1)


def readers(placed: PlacedOps) -> dict[int, list[int]]:
    """Return for each op those that read a result or a block argument of it; what ends a block is read by its op."""
    found: dict[int, list[int]] = {}
    for n, op in enumerate(placed.ir.ops):
        for source in {value[0] for line in op.values for value in line} - {n}:
            found.setdefault(source, []).append(n)
        if op.name in _YIELDS and op.parent >= 0:
            found.setdefault(n, []).append(op.parent)
    return found


def path_between(
    placed: PlacedOps, sources: Iterable[int], targets: Collection[int], without: Collection[int] = ()
) -> list[int] | None:
    """Return the ops of a shortest way along values from one of some ops to another, ends included, or None."""
    links, came = readers(placed), dict.fromkeys(sources, -1)
    waiting = deque(came)
    while waiting:
        at = waiting.popleft()
        if at in targets:
            way = [at]
            while (at := came[at]) >= 0:
                way.append(at)
            return way[::-1]
        for reader in links.get(at, ()):
            if reader not in came and reader not in without:
                came[reader] = at
                waiting.append(reader)
    return None


def fused_loop(case: FusionCase, placed: PlacedOps) -> tuple[int, int, int] | None:
    """Return a loop made by a step with both ops in it, and the two; the loop is the innermost of one of them."""
    for consumer in case.instances(placed, case.consumer):
        for producer in case.instances(placed, case.producer):
            mine, its = (loops_around(placed, n) for n in (consumer, producer))
            shared = [n for n in (*mine[:1], *its[:1]) if n in mine and n in its]
            made = [n for n in shared if case.trace.op(placed.ids[n] or "").born >= 0]
            if made:
                return made[0], producer, consumer
    return None


def users_of(placed: PlacedOps, number: int) -> list[int]:
    """Return the ops that read a result of an op and are not dead code themselves."""
    links = readers(placed)
    ends = {
        n
        for n, op in enumerate(placed.ir.ops)
        if op.name.endswith(("return", "call")) or _has_no_result(placed, n)
    }
    reading = [n for n in links.get(number, ()) if number not in around(placed, n)]
    return [n for n in reading if path_between(placed, [n], ends)]


def _has_no_result(placed: PlacedOps, number: int) -> bool:
    op = placed.ir.ops[number]
    is_end = op.name in _YIELDS or op.name.endswith("yield") or op.name.endswith(("module", "func"))
    return not is_end and not any(value[0] == number and value[1] >= 0 for value in op.values[0])


def copies_outside(case: FusionCase, placed: PlacedOps) -> Iterator[tuple[int, list[int]]]:
    """Yield the copies of the producer that share no loop with the consumer and are read, with their readers."""
    loops = {n for c in case.instances(placed, case.consumer) for n in loops_around(placed, c)}
    for producer in case.instances(placed, case.producer):
        if loops.isdisjoint(around(placed, producer)) and (users := users_of(placed, producer)):
            yield producer, users


def result_type(placed: PlacedOps, number: int) -> str:
    """Return the last part of an op as printed that is behind ``->``: the type of its result."""
    shapes = placed.ir.ops[number].shapes
    return next((s.rpartition("-> ")[2].strip() for s in reversed(shapes) if "-> " in s and "tensor<" in s), "")


def result_maps(placed: PlacedOps, number: int) -> list[tuple[list[str], list[str]]]:
    """Return the indexing maps of an op's results as (dimensions, expressions), none for ops that print none."""
    op = placed.ir.ops[number]
    found = _MAP.findall(op.shapes[0].partition("iterator_types")[0])
    count = max(len({v for v in op.values[0] if v[0] == number}), 1)
    return [(dims.split(", "), results.split(", ")) for dims, results in found[-count:]]
