"""Abstract interpretation of a kernel's memory program: bounds on allocations, copies and peak.

Where extents and trip counts are known, so is the result. Where control depends on data, all paths are
followed, and the result is bounded by them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lhkit.memory.live_buffers import LiveRanges
from lhkit.model.memory_footprint import (
    UNKNOWN,
    Instruction,
    MemoryProgram,
    Number,
    Prediction,
    Range,
    Region,
    add,
    between,
    compare,
    compute,
    count,
    hull,
    known,
    largest,
    rounded,
    times,
)

# Loops whose iterations differ are run one by one, as long as there are not more instructions than this.
_MOST_STEPS = 300_000
_MOST_DEPTH = 60
_ROUNDS = 8
_ONE = Range(1, 1)


def predict_footprint(program: MemoryProgram, arguments: Sequence[tuple[int, ...] | int]) -> Prediction:
    """Return bounds on what a call allocates; nothing is known of trailing arguments that are left out."""
    machine = _Machine(program)
    entry = dict(program.functions)[program.entry]
    values = [machine.argument(a) for a in arguments]
    values += [machine.argument(None) for _ in entry.arguments[len(values) :]]
    returned = machine.call(entry, values)
    return machine.prediction(returned)


@dataclass(slots=True)
class _Moment:
    """The abstract state after a number of iterations."""

    heap: Heap
    values: list[Value]
    tally: Tally


class _Machine:
    """Interprets a memory program and records live ranges."""

    def __init__(self, program: MemoryProgram) -> None:
        self._functions = dict(program.functions)
        self._ranges = LiveRanges(program)
        self._heap = Heap()
        self._tally = Tally()
        self._merged: dict[int, frozenset[int]] = {}
        self._count = 0
        self._steps = 0
        self._depth = 0
        self._run: dict[str, Callable[[Instruction, Environment], None]] = {
            "alloc": self._alloc,
            "stack": self._stack,
            "free": self._free,
            "copy": self._copy,
            "touch": self._touch,
            "loop": self._loop,
            "while": self._while,
            "branch": self._branch,
            "call": self._call,
            **EVALUATIONS,
        }

    def argument(self, given: tuple[int, ...] | int | None) -> Value:
        """Return the value of an argument: a number, or the caller's buffer (of any extents for None)."""
        if isinstance(given, int):
            return known(given)
        return Buffers(frozenset({self._new()}), None if given is None else tuple(known(n) for n in given))

    def call(self, function: Region, values: Sequence[Value]) -> list[Value]:
        return self._region(function, dict(zip(function.arguments, values, strict=True)))

    def prediction(self, returned: Sequence[Value]) -> Prediction:
        held = frozenset().union(*(v.numbers for v in returned if isinstance(v, Buffers)))
        sites, points, loops = self._ranges.found(
            self._originals(frozenset(self._heap.live)), self._originals(held)
        )
        tally, heap = self._tally, self._heap
        return Prediction(
            allocations=tally.allocations,
            total_bytes=tally.total_bytes,
            peak_bytes=heap.peak,
            left_bytes=heap.bytes,
            copies=tally.copies,
            copied_bytes=tally.copied_bytes,
            stack_bytes=tally.stack_bytes,
            sites=sites,
            points=points,
            loops=loops,
        )

    def _region(self, region: Region, env: Environment) -> list[Value]:
        for instruction in region.body:
            self._steps += 1
            self._run[instruction.kind](instruction, env)
        return [env.get(v) for v in region.yields]

    def _new(self) -> int:
        self._count += 1
        return self._count

    # Memory

    def _alloc(self, instruction: Instruction, env: Environment) -> None:
        size, made = self._made(instruction, env)
        size = rounded(size, instruction.alignment)
        self._heap.allocate(made, size)
        self._tally = self._tally.plus(Tally(allocations=_ONE, total_bytes=size))
        self._ranges.allocated(instruction, made, size, self._heap.bytes)

    def _stack(self, instruction: Instruction, env: Environment) -> None:
        size, made = self._made(instruction, env)
        self._tally = self._tally.plus(Tally(stack_bytes=size))
        self._ranges.allocated(instruction, made, size, self._heap.bytes)

    def _made(self, instruction: Instruction, env: Environment) -> tuple[Range, int]:
        given = [number_of(env.get(v)) for v in instruction.operands]
        size = self._bytes(instruction.number, given)
        dynamic = iter(given)
        extents = tuple(next(dynamic) if n is None else known(n) for n in instruction.extents)
        made = self._new()
        env[instruction.results[0]] = Buffers(frozenset({made}), extents)
        return size, made

    @staticmethod
    def _bytes(number: int, extents: Sequence[Number]) -> Range:
        size = Range(number, number)
        for extent in extents:
            size = times(size, count(extent))
        return size

    def _free(self, instruction: Instruction, env: Environment) -> None:
        buffers = env.get(instruction.operands[0])
        numbers = buffers.numbers if isinstance(buffers, Buffers) else frozenset(self._heap.live)
        self._heap.free(numbers if isinstance(buffers, Buffers) else numbers | {0})
        self._ranges.freed(instruction, self._originals(numbers), self._heap.bytes)

    def _copy(self, instruction: Instruction, env: Environment) -> None:
        extents = [number_of(env.get(v)) for v in instruction.operands[2:]]
        size = self._bytes(instruction.number, extents)
        self._tally = self._tally.plus(Tally(copies=_ONE, copied_bytes=size))
        self._use(instruction, instruction.operands[:2], env)

    def _touch(self, instruction: Instruction, env: Environment) -> None:
        self._use(instruction, instruction.operands, env)

    def _use(self, instruction: Instruction, values: Sequence[int], env: Environment) -> None:
        buffers = [b for b in map(env.get, values) if isinstance(b, Buffers)]
        used = frozenset().union(*(self._originals(b.numbers) for b in buffers))
        self._ranges.used(instruction, used, self._heap.bytes)

    def _originals(self, numbers: frozenset[int]) -> frozenset[int]:
        while found := numbers & self._merged.keys():
            numbers = (numbers - found).union(*(self._merged[n] for n in found))
        return numbers

    # Control

    def _loop(self, loop: Instruction, env: Environment) -> None:
        (body,) = loop.regions
        lower, upper, step = (number_of(env.get(v)) for v in loop.operands[:3])
        carried = [env.get(v) for v in loop.operands[3:]]
        trips = count(compute("ceildivsi", (compute("subi", (upper, lower)), step)))
        if trips.high == 0:
            trips = NONE
        self._ranges.looped(loop, trips)
        starts = None if lower.value is None or step.value is None else (lower.value, step.value)
        left = trips
        if trips.is_exact and starts is not None:
            left, carried = self._run_each(body, env, trips.low, starts, carried)
        if left != NONE:
            indices = Number(lower.low, None if upper.high is None else upper.high - 1)
            carried = self._run_some(lambda given: self._iterate(body, env, indices, given), left, carried)
        env.update(zip(loop.results, carried, strict=True))

    def _iterate(self, body: Region, env: Environment, index: Number, carried: Sequence[Value]) -> list[Value]:
        env.update(zip(body.arguments, (index, *carried), strict=True))
        return self._region(body, env)

    def _run_each(
        self, body: Region, env: Environment, trips: int, starts: tuple[int, int], carried: list[Value]
    ) -> tuple[Range, list[Value]]:
        """Run iterations until a fixpoint or the step limit; return how many are left."""
        varies = self._ranges.uses(body, body.arguments[0])
        oldest, seen = self._count, None
        lower, step = starts
        for i in range(trips):
            if self._steps > _MOST_STEPS:
                return Range(trips - i, trips - i), carried
            before = self._tally
            carried = self._iterate(body, env, known(lower + i * step), carried)
            if varies:
                continue
            now = self._signature(carried, oldest)
            if now == seen:
                rest = trips - i - 1
                self._tally = self._tally.plus(self._tally.minus(before).repeated(Range(rest, rest)))
                break
            seen = now
        return NONE, carried

    def _signature(self, carried: Sequence[Value], oldest: int) -> object:
        """Return what the next iteration depends on; buffers made in the loop are told apart by their sites."""

        def described(number: int) -> object:
            if number <= oldest:
                return number
            return self._ranges.sites_of(self._originals(frozenset({number})))

        values = tuple(
            (frozenset(map(described, v.numbers)), v.extents) if isinstance(v, Buffers) else v for v in carried
        )
        live = sorted(str((described(n), size.low, size.high)) for n, size in self._heap.live.items())
        return values, tuple(live)

    def _run_some(
        self, run: Callable[[list[Value]], list[Value]], trips: Range, carried: list[Value]
    ) -> list[Value]:
        """Run iterations until a fixpoint, and join the states at which the loop may end."""
        oldest = self._count
        moments = [_Moment(self._heap.copy(), carried, self._tally)]
        seen = self._signature(carried, oldest)
        each: Tally | None = None
        while len(moments) <= _ROUNDS and (trips.high is None or len(moments) <= trips.high):
            carried = run(carried)
            now = self._signature(carried, oldest)
            if now == seen:
                # From here on all iterations are alike.
                each = self._tally.minus(moments[-1].tally)
                moments[-1].heap.peak = between((moments[-1].heap.peak, self._heap.peak))
                break
            moments.append(_Moment(self._heap.copy(), carried, self._tally))
            seen = now
        is_whole = trips.high is not None and trips.high < len(moments)
        ends = moments[min(trips.low, len(moments) - 1) : None if trips.high is None else trips.high + 1]
        self._tally = _tally_of(moments, each or Tally(), trips)
        self._heap, carried = self._join([m.heap for m in ends], [m.values for m in ends])
        if each is None and not is_whole:
            self._lose_bounds()
            return [None if isinstance(v, Buffers) else UNKNOWN for v in carried]
        return carried

    def _lose_bounds(self) -> None:
        """Drop upper bounds: live buffers differ by iteration, and the trip count is unknown."""
        heap = self._heap
        heap.live = {n: Range(0, None) for n in heap.live}
        heap.measure()
        heap.peak = Range(heap.peak.low, None)
        self._tally = self._tally.unbounded()

    def _while(self, loop: Instruction, env: Environment) -> None:
        before, after = loop.regions

        def ask(given: Sequence[Value]) -> list[Value]:
            env.update(zip(before.arguments, given, strict=True))
            return self._region(before, env)

        def iterate(given: Sequence[Value]) -> list[Value]:
            env.update(zip(after.arguments, given, strict=True))
            return ask(self._region(after, env))

        trips = 0
        more, *handed = ask([env.get(v) for v in loop.operands])
        while number_of(more).value and self._steps <= _MOST_STEPS:
            more, *handed = iterate(handed)
            trips += 1
        if number_of(more).value == 0:
            self._ranges.looped(loop, Range(trips, trips))
        else:
            self._ranges.looped(loop, Range(trips, None))
            handed = self._run_some(lambda given: iterate(given)[1:], Range(0, None), handed)
        env.update(zip(loop.results, handed, strict=True))

    def _branch(self, branch: Instruction, env: Environment) -> None:
        condition = number_of(env.get(branch.operands[0])).value
        if condition is not None:
            values = self._region(branch.regions[min(abs(condition), 1)], env)
            env.update(zip(branch.results, values, strict=False))
            return
        tally, heaps, given, tallies = self._tally, [], [], []
        start = self._heap
        for region in branch.regions:
            self._heap, self._tally = start.copy(), tally
            given.append(self._region(region, env))
            heaps.append(self._heap)
            tallies.append(self._tally)
        self._tally = Tally.one_of(tallies)
        width = len(branch.results)
        self._heap, values = self._join(heaps, [g[:width] for g in given])
        env.update(zip(branch.results, values, strict=True))

    def _join(self, heaps: list[Heap], values: list[list[Value]]) -> tuple[Heap, list[Value]]:
        merged: dict[int, frozenset[int]] = {}
        joined, one = join(heaps, values, merged, self._count + 1)
        self._count += len(merged)
        self._merged |= merged
        return joined, one

    def _call(self, call: Instruction, env: Environment) -> None:
        function = self._functions.get(call.name)
        if function is None:
            return
        if self._depth == _MOST_DEPTH:
            # A recursion whose end depends on data.
            self._lose_bounds()
            return
        self._depth += 1
        values = self.call(function, [env.get(v) for v in call.operands])
        self._depth -= 1
        env.update(zip(call.results, values, strict=True))


def _tally_of(moments: Sequence[_Moment], each: Tally, trips: Range) -> Tally:
    """Return what was done after a number of iterations; those after the last moment do ``each``."""
    last = len(moments) - 1
    fewest = moments[min(trips.low, last)].tally
    fewest = fewest.plus(each.repeated(Range(max(trips.low - last, 0), max(trips.low - last, 0))))
    if trips.high is None:
        most = moments[last].tally.plus(each.repeated(Range(0, None)))
    else:
        more = max(trips.high - last, 0)
        most = moments[min(trips.high, last)].tally.plus(each.repeated(Range(more, more)))
    return Tally.one_of((fewest, most))


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
        """Return the sum."""
        return Tally(*(add(a, b) for a, b in zip(_fields(self), _fields(other), strict=True)))

    def minus(self, earlier: Tally) -> Tally:
        """Return the difference."""
        return Tally(*(_since(a, b) for a, b in zip(_fields(self), _fields(earlier), strict=True)))

    def unbounded(self) -> Tally:
        """Return it without upper bounds."""
        return Tally(*(Range(each.low, None) for each in _fields(self)))

    def repeated(self, trips: Range) -> Tally:
        """Return it times a trip count."""
        return Tally(*(times(each, trips) for each in _fields(self)))

    @staticmethod
    def one_of(tallies: Sequence[Tally]) -> Tally:
        """Return the hull of several."""
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
        peak: The most that lived until now.
    """

    live: dict[int, Range] = field(default_factory=dict)
    bytes: Range = NONE
    peak: Range = NONE

    def copy(self) -> Heap:
        """Return a copy."""
        return Heap(dict(self.live), self.bytes, self.peak)

    def allocate(self, number: int, size: Range) -> None:
        """Add a buffer."""
        self.live[number] = size
        self.bytes = add(self.bytes, size)
        self.peak = largest(self.peak, self.bytes)

    def free(self, numbers: frozenset[int]) -> None:
        """Free one of several buffers."""
        if len(numbers) == 1:
            (number,) = numbers
            self.live.pop(number, None)
        else:
            for number in numbers & self.live.keys():
                self.live[number] = Range(0, self.live[number].high)
        self.measure()

    def measure(self) -> None:
        """Sum up the live buffers."""
        self.bytes = NONE
        for size in self.live.values():
            self.bytes = add(self.bytes, size)


def join(
    heaps: Sequence[Heap], values: Sequence[Sequence[Value]], merged: dict[int, frozenset[int]], new: int
) -> tuple[Heap, list[Value]]:
    """Join several heaps and the values of each, column by column.

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
    """Join values: the hull of numbers, the union of buffers."""
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
