"""Abstract state of a memory program: heap, aliases and tallies, with joins at control flow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lhkit.model.memory_footprint import (
    UNKNOWN,
    Instruction,
    Number,
    Range,
    add,
    between,
    compare,
    compute,
    hull,
    known,
    largest,
    times,
)

NONE = Range(0, 0)


@dataclass(frozen=True, slots=True)
class Buffers:
    """A value that is one of several buffers, and its extents where they are known."""

    numbers: frozenset[int]
    extents: tuple[Number, ...] | None = None


# None is a buffer of which nothing is known.
Value = Number | Buffers | None


@dataclass(frozen=True, slots=True)
class Tally:
    """Totals of allocations and copies so far."""

    allocations: Range = NONE
    total_bytes: Range = NONE
    copies: Range = NONE
    copied_bytes: Range = NONE
    stack_bytes: Range = NONE

    def plus(self, other: Tally) -> Tally:
        """Return both together."""
        return Tally(*(add(a, b) for a, b in zip(_fields(self), _fields(other), strict=True)))

    def minus(self, earlier: Tally) -> Tally:
        """Return what was done since."""
        return Tally(*(_since(a, b) for a, b in zip(_fields(self), _fields(earlier), strict=True)))

    def unbounded(self) -> Tally:
        """Return the same with nothing that bounds it from above."""
        return Tally(*(Range(each.low, None) for each in _fields(self)))

    def repeated(self, trips: Range) -> Tally:
        """Return the same, done ``trips`` times."""
        return Tally(*(times(each, trips) for each in _fields(self)))

    @staticmethod
    def one_of(tallies: Sequence[Tally]) -> Tally:
        """Return what bounds several."""
        return Tally(*(between(each) for each in zip(*map(_fields, tallies), strict=True)))


def _fields(tally: Tally) -> tuple[Range, ...]:
    return tuple(getattr(tally, f.name) for f in dataclasses.fields(tally))


def _since(now: Range, was: Range) -> Range:
    return Range(now.low - was.low, None if now.high is None or was.high is None else now.high - was.high)


@dataclass(slots=True)
class Heap:
    """The heap at a moment.

    Attributes:
        live: Size of each buffer that lives; one that may live has 0 as its lowest size.
        bytes: All of them together.
        peak: The most that lived until now.
    """

    live: dict[int, Range] = field(default_factory=dict)
    bytes: Range = NONE
    peak: Range = NONE

    def copy(self) -> Heap:
        """Return the same, apart."""
        return Heap(dict(self.live), self.bytes, self.peak)

    def allocate(self, number: int, size: Range) -> None:
        """Add a buffer."""
        self.live[number] = size
        self.bytes = add(self.bytes, size)
        self.peak = largest(self.peak, self.bytes)

    def free(self, numbers: frozenset[int]) -> None:
        """Remove a buffer that is one of several."""
        if len(numbers) == 1:
            (number,) = numbers
            self.live.pop(number, None)
        else:
            for number in numbers & self.live.keys():
                self.live[number] = Range(0, self.live[number].high)
        self.measure()

    def measure(self) -> None:
        """Add up what lives."""
        self.bytes = NONE
        for size in self.live.values():
            self.bytes = add(self.bytes, size)


def join(
    heaps: Sequence[Heap], values: Sequence[Sequence[Value]], merged: dict[int, frozenset[int]], new: int
) -> tuple[Heap, list[Value]]:
    """Return what bounds several moments and the values that each of them gives, place by place.

    Two buffers that each live in one moment only, and are at the same position, become one: each of the
    moments has exactly one of them.
    """
    columns = [list(column) for column in zip(*values, strict=True)]
    for column in columns:
        owned = [_only_here(v, heap, heaps) for v, heap in zip(column, heaps, strict=True)]
        if all(o is not None for o in owned) and len(set(owned)) > 1:
            old = [o for o in owned if o is not None]
            new_number = new + len(merged)
            merged[new_number] = frozenset(old)
            for heap, number in zip(heaps, old, strict=True):
                heap.live[new_number] = heap.live.pop(number)
            for k, row in enumerate(values):
                _rename(columns, k, old[k], new_number, len(row))
    live = {
        n: between([h.live.get(n, NONE) for h in heaps])
        for n in dict.fromkeys(k for h in heaps for k in h.live)
    }
    joined = Heap(live, peak=between([h.peak for h in heaps]))
    joined.measure()
    return joined, [one_value(column) for column in columns]


def _only_here(value: Value, heap: Heap, heaps: Sequence[Heap]) -> int | None:
    """Return the buffer that a value is for certain, if it lives in this moment and no other."""
    if not isinstance(value, Buffers) or len(value.numbers) != 1:
        return None
    (number,) = value.numbers
    others = [h for h in heaps if h is not heap]
    return number if number in heap.live and not any(number in h.live for h in others) else None


def _rename(columns: list[list[Value]], row: int, old: int, new: int, count: int) -> None:
    for k in range(count):
        value = columns[k][row]
        if isinstance(value, Buffers) and value.numbers == {old}:
            columns[k][row] = Buffers(frozenset({new}), value.extents)


def one_value(values: Sequence[Value]) -> Value:
    """Return what is known of a value that is one of several."""
    if all(isinstance(v, Number) for v in values):
        return hull([v for v in values if isinstance(v, Number)])
    if not all(isinstance(v, Buffers) for v in values):
        return None
    buffers = [v for v in values if isinstance(v, Buffers)]
    extents = [b.extents for b in buffers if b.extents is not None]
    is_known = len(extents) == len(buffers) and len({len(e) for e in extents}) == 1
    each = tuple(map(hull, zip(*extents, strict=True))) if is_known else None
    return Buffers(frozenset().union(*(b.numbers for b in buffers)), each)


# Transfer functions on values: numbers, and the buffers that a value may alias.


Environment = dict[int, Value]


def number_of(value: Value) -> Number:
    """Return a value as a number; nothing is known of others."""
    return value if isinstance(value, Number) else UNKNOWN


def _alias(instruction: Instruction, env: Environment) -> None:
    values = [env.get(v) for v in instruction.operands]
    if instruction.name == "select":
        condition, yes, no = values
        chosen = number_of(condition).value
        value = one_value((yes, no)) if chosen is None else yes if chosen else no
    else:
        value = values[0]
    if isinstance(value, Buffers) and instruction.name == "view":
        sizes = (number_of(v) for v in values[1:])
        extents = tuple(next(sizes) if n is None else known(n) for n in instruction.extents)
        value = Buffers(value.numbers, extents or None)
    env[instruction.results[0]] = value


def _extent(instruction: Instruction, env: Environment) -> None:
    buffers = env.get(instruction.operands[0])
    index: int | None = instruction.number
    if index == -1:
        index = number_of(env.get(instruction.operands[1])).value
    extents = buffers.extents if isinstance(buffers, Buffers) else None
    is_there = extents is not None and index is not None and 0 <= index < len(extents)
    env[instruction.results[0]] = extents[index] if is_there else Number(0, None)  # type: ignore[index]


def _constant(instruction: Instruction, env: Environment) -> None:
    env[instruction.results[0]] = known(instruction.number)


def _compare(instruction: Instruction, env: Environment) -> None:
    a, b = (env.get(v) for v in instruction.operands)
    if isinstance(a, Buffers) and isinstance(b, Buffers):
        env[instruction.results[0]] = _same_buffer(a, b, instruction.name)
    else:
        env[instruction.results[0]] = compare(instruction.name, number_of(a), number_of(b))


def _compute(instruction: Instruction, env: Environment) -> None:
    operands = [number_of(env.get(v)) for v in instruction.operands]
    env[instruction.results[0]] = compute(instruction.name, operands)


def _same_buffer(a: Buffers, b: Buffers, name: str) -> Number:
    """Return whether two buffers are the same (``eq``), or are not."""
    if not a.numbers & b.numbers:
        same: int | None = 0
    else:
        same = 1 if len(a.numbers | b.numbers) == 1 else None
    if same is None or name not in ("eq", "ne"):
        return Number(0, 1)
    return known(same if name == "eq" else 1 - same)


EVALUATIONS: dict[str, Callable[[Instruction, Environment], None]] = {
    "alias": _alias,
    "extent": _extent,
    "address": _alias,
    "constant": _constant,
    "compare": _compare,
    "compute": _compute,
}
