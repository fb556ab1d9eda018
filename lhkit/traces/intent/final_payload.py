"""The payload at the end of a trace: which ops a name means there, and the loops around them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lhkit.model.expectation import LoopPattern, Size
from lhkit.model.span import Span
from lhkit.model.trace_record import Trace
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.record.placed_ops import PlacedOps, PrintedOp, Value, place_ops, source_place
from lhkit.traces.record.placed_values import around, live_ops, loops_around

_WITHOUT_WORK = ("linalg.yield", "linalg.index")
# Ops on vectors that only move or rearrange their elements.
_MOVING = re.compile(r"vector\.(transfer|load|store|.*cast|extract|insert|transpose|shuffle|\w+_elements)")


@dataclass(frozen=True, slots=True)
class Meant:
    """The ops that a subject means: those that it named last, and what is left of them at the end."""

    ids: tuple[str, ...]  # The ops when they were named last
    numbers: tuple[int, ...]  # The ops at the end, by number in the printed payload
    is_same: bool  # Whether these are the named ops themselves, not ops made from them


class FinalPayload:
    """Queries on the payload at the end of a trace; dead code does not count."""

    def __init__(self, trace: Trace, placed: PlacedOps) -> None:
        self.trace, self.placed = trace, placed
        self.history = PayloadHistory(trace)

    @staticmethod
    def of(trace: Trace) -> FinalPayload | None:
        """Return the last payload of a trace, None where its text or the ids of its ops are not known."""
        placed = place_ops(trace, trace.snapshots[-1].step) if trace.snapshots else None
        return None if placed is None else FinalPayload(trace, placed)

    @functools.cached_property
    def numbers(self) -> dict[str, int]:
        """The live ops by id."""
        live = live_ops(self.placed)
        return {id_: n for n, id_ in enumerate(self.placed.ids) if id_ is not None and n in live}

    def named(self, name: str) -> list[int]:
        """Return the live ops of a name."""
        return [n for id_, n in self.numbers.items() if self.trace.op(id_).name == name]

    def meant(self, subject: str) -> Meant | None:
        """Return the ops that a handle or a name of ops means; None for a handle that was never defined."""
        ids = self._of_handle(subject) if subject.startswith("%") else self._of_name(subject)
        return None if ids is None else self.meant_by(ids)

    def meant_by(self, ids: Iterable[str]) -> Meant:
        """Return what is left of some ops at the end."""
        ids = tuple(ids)
        same = tuple(self.numbers[i] for i in ids if i in self.numbers)
        if same:
            return Meant(ids, same, is_same=True)
        # The body of a structured op is what its arithmetic is made of.
        bodies = [o.id for o in self.trace.op_records if o.parent in ids]
        made = [o for o in self.history.descendants([*ids, *bodies]) if o.id in self.numbers]
        return Meant(ids, tuple(self.numbers[o.id] for o in made), is_same=False)

    def _of_handle(self, name: str) -> tuple[str, ...] | None:
        records = [h.id for h in self.trace.handle_records if h.name == name]
        if not records:
            return None
        held: tuple[str, ...] = ()
        for step in self.trace.steps_by_end():
            for change in step.changes:
                if change.handle == records[-1] and change.payload:
                    each = (r if isinstance(r, str) else getattr(r, "op", None) for r in change.payload)
                    held = tuple(i for i in each if i is not None)
        return held

    def _of_name(self, name: str) -> tuple[str, ...]:
        if self.named(name):
            return tuple(i for i, n in self.numbers.items() if self.trace.op(i).name == name)
        return tuple(o.id for o in self.trace.op_records if o.name == name)

    def working(self, meant: Meant) -> list[int]:
        """Return the ops at the end that do the work of those meant: themselves, or what was made of them."""
        if meant.is_same:
            return list(meant.numbers)
        work = [n for n in meant.numbers if self.name(n).startswith(("linalg.", "vector."))]
        # The innermost, and of those rather what computes than what moves data.
        work.sort(key=lambda n: (-len(loops_around(self.placed, n)), bool(_MOVING.match(self.name(n)))))
        return work[:1]

    def name(self, number: int) -> str:
        """Return the full name of an op."""
        id_ = self.placed.ids[number]
        return self.placed.ir.ops[number].name if id_ is None else self.trace.op(id_).name

    def place(self, number: int) -> Span | None:
        """Return the place in the payload as given that an op comes from."""
        id_ = self.placed.ids[number]
        return None if id_ is None else source_place(self.trace, self.trace.op(id_))

    def in_words(self, number: int) -> str:
        """Return the name of an op, with its place where that is known."""
        place = self.place(number)
        return f"{self.name(number)} of {place}" if place else self.name(number)

    def inside(self, numbers: Iterable[int]) -> list[int]:
        """Return the live ops inside of others."""
        outer = set(numbers)
        return [n for n in self.numbers.values() if not outer.isdisjoint(around(self.placed, n))]

    def structured(self, numbers: Iterable[int]) -> list[int]:
        """Return the structured ops among some."""
        return [n for n in numbers if self.name(n).startswith("linalg.") and self.name(n) not in _WITHOUT_WORK]

    def loops(self, number: int) -> tuple[LoopPattern, ...]:
        """Return the loops around an op with their steps, from the outermost to the innermost."""
        outer = reversed(loops_around(self.placed, number))
        return tuple(LoopPattern(self.placed.ir.ops[n].name.partition(".")[2], self.steps(n)) for n in outer)

    def alike(self, number: int) -> int:
        """Return how many ops of the name of one are in the same loops, itself counted."""
        loops = loops_around(self.placed, number)
        return sum(loops_around(self.placed, n) == loops for n in self.named(self.name(number)))

    def steps(self, loop: int) -> tuple[Size, ...]:
        """Return the step of each variable of a loop, None where it is not a constant.

        A normalized ``scf.forall`` counts from 0 by 1: its step is what its body multiplies the variable by.
        """
        op = self.placed.ir.ops[loop]
        if op.name == "affine.for":
            found = re.search(r"\bstep (\d+)", op.shapes[0])
            return (int(found[1]) if found else 1,)
        if op.name == "scf.forall":
            written = re.search(r"\bstep \(([^)]*)\)", op.shapes[0])
            if written is not None:
                return tuple(int(s) if s.strip().isdecimal() else None for s in written[1].split(","))
            counts = re.search(r" in \(([^)]*)\)", op.shapes[0])
            count = len(counts[1].split(",")) if counts else 0
            return tuple(self._factor(loop, n) for n in range(count))
        if op.name in ("scf.for", "scf.parallel"):
            return self._step_operands(op, loop)
        return ()

    def _step_operands(self, op: PrintedOp, loop: int) -> tuple[Size, ...]:
        """Return the steps of a loop that has them as operands, behind its variables and bounds."""
        values = op.values[0]
        first = values.index((loop, -1)) if (loop, -1) in values else len(values)
        count = 1
        while op.name == "scf.parallel" and values[first + count : first + count + 1] == ((loop, -1 - count),):
            count += 1
        return tuple(map(self._constant, values[first + 3 * count : first + 4 * count]))

    def _constant(self, value: Value) -> int | None:
        op = self.placed.ir.ops[value[0]]
        found = re.search(r"\barith\.constant (-?\d+)", op.shapes[0])
        return int(found[1]) if found else None

    def _factor(self, loop: int, number: int) -> Size:
        """Return what the body of a loop multiplies its variable by: 1 if nothing does, None if not known."""
        variable = (loop, -1 - number)
        for op in self.placed.ir.ops:
            if op.name not in ("affine.apply", "arith.muli") or variable not in op.values[0]:
                continue
            given = op.values[0][1:]
            if op.name == "arith.muli":
                return next((self._constant(v) for v in given if v != variable), None)
            dimensions = op.shapes[0].partition("(")[2].partition(")")[0].count("d")
            at = given.index(variable)
            name = f"d{at}" if at < dimensions else f"s{at - dimensions}"
            found = re.search(rf"\b{name} \* (\w+)", op.shapes[0])
            if found is None:
                return 1
            return int(found[1]) if found[1].isdecimal() else None
        return 1
