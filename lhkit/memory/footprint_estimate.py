"""Abstract interpretation of a kernel's memory program: bounds on allocations, copies and peak.

Where extents and trip counts are known, so is the result. Where control depends on data, all paths are
followed, and the result is bounded by them.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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
_NONE, _ONE, _ANY = Range(0, 0), Range(1, 1), Range(0, None)


def predict_footprint(program: MemoryProgram, arguments: Sequence[tuple[int, ...] | int]) -> Prediction:
    """Return bounds on what a call allocates; nothing is known of trailing arguments that are left out."""
    return _Machine(program).predict(dict(program.functions)[program.entry], arguments)


@dataclass(frozen=True, slots=True)
class Buffers:
    """A value that is one of several buffers, and its extents where they are known."""

    numbers: frozenset[int]
    extents: tuple[Number, ...] | None = None


# None is a buffer of which nothing is known.
Value = Number | Buffers | None
Environment = dict[int, Value]


class _Tally(NamedTuple):
    """Totals so far, named as in `Prediction`."""

    allocations: Range = _NONE
    total_bytes: Range = _NONE
    copies: Range = _NONE
    copied_bytes: Range = _NONE
    stack_bytes: Range = _NONE

    def plus(self, other: _Tally) -> _Tally:
        return _Tally(*map(add, self, other))

    def minus(self, earlier: _Tally) -> _Tally:
        return _Tally(*map(_since, self, earlier))

    def repeated(self, trips: Range) -> _Tally:
        return _Tally(*(times(each, trips) for each in self))


def _since(now: Range, was: Range) -> Range:
    return Range(now.low - was.low, None if now.high is None or was.high is None else now.high - was.high)


@dataclass(slots=True)
class _State:
    """The heap and the totals at a moment.

    Attributes:
        live: Size of each live buffer; one that may live has 0 as its lowest size.
        peak: The most bytes that lived until now.
    """

    live: dict[int, Range] = field(default_factory=dict)
    bytes: Range = _NONE
    peak: Range = _NONE
    tally: _Tally = field(default_factory=_Tally)

    def copy(self) -> _State:
        return dataclasses.replace(self, live=dict(self.live))

    def count(self, **more: Range) -> None:
        self.tally = self.tally.plus(_Tally(**more))

    def allocate(self, number: int, size: Range) -> None:
        self.live[number] = size
        self.bytes = add(self.bytes, size)
        self.peak = largest(self.peak, self.bytes)

    def free(self, numbers: frozenset[int], *, is_certain: bool) -> None:
        """Free one of several buffers."""
        for number in numbers & self.live.keys():
            if is_certain:
                del self.live[number]
            else:
                self.live[number] = Range(0, self.live[number].high)
        self.measure()

    def measure(self) -> None:
        self.bytes = functools.reduce(add, self.live.values(), _NONE)

    def lose_bounds(self) -> None:
        """Drop upper bounds: live buffers differ by iteration, and the trip count is unknown."""
        self.live = dict.fromkeys(self.live, _ANY)
        self.measure()
        self.peak = Range(self.peak.low, None)
        self.tally = _Tally(*(Range(each.low, None) for each in self.tally))


class _Machine:
    """Interprets a memory program and records live ranges."""

    def __init__(self, program: MemoryProgram) -> None:
        self._functions = dict(program.functions)
        self._ranges = LiveRanges(program)
        self._state = _State()
        self._merged: dict[int, frozenset[int]] = {}
        self._count = 0
        self._steps = 0
        self._depth = 0
        self._run: dict[str, Callable[[Instruction, Environment], None]] = {
            "alloc": self._alloc,
            "stack": self._alloc,
            "free": self._free,
            "copy": self._copy,
            "touch": self._touch,
            "loop": self._loop,
            "while": self._while,
            "branch": self._branch,
            "call": self._call,
        }

    def predict(self, entry: Region, arguments: Sequence[tuple[int, ...] | int]) -> Prediction:
        given = itertools.zip_longest(arguments, entry.arguments)
        returned = self._enter(entry, [self._argument(a) for a, _ in given])
        held = frozenset().union(*(v.numbers for v in returned if isinstance(v, Buffers)))
        state = self._state
        sites, points, loops = self._ranges.found(self._originals(frozenset(state.live)), self._originals(held))
        return Prediction(
            **state.tally._asdict(),
            peak_bytes=state.peak,
            left_bytes=state.bytes,
            sites=sites,
            points=points,
            loops=loops,
        )

    def _argument(self, given: tuple[int, ...] | int | None) -> Value:
        """Return the value of an argument: a number, or the caller's buffer (of any extents for None)."""
        if isinstance(given, int):
            return known(given)
        return Buffers(frozenset({self._new()}), None if given is None else tuple(map(known, given)))

    def _enter(self, function: Region, values: Sequence[Value]) -> list[Value]:
        return self._region(function, dict(zip(function.arguments, values, strict=True)))

    def _region(self, region: Region, env: Environment) -> list[Value]:
        for instruction in region.body:
            self._steps += 1
            if (run := self._run.get(instruction.kind)) is not None:
                run(instruction, env)
            else:
                env[instruction.results[0]] = _evaluate(instruction, [env.get(v) for v in instruction.operands])
        return [env.get(v) for v in region.yields]

    def _new(self) -> int:
        self._count += 1
        return self._count

    # Memory

    def _alloc(self, instruction: Instruction, env: Environment) -> None:
        """Make a buffer, on the heap or on the stack."""
        given = _numbers(instruction.operands, env)
        made, size = self._new(), _bytes(instruction.number, given)
        env[instruction.results[0]] = Buffers(frozenset({made}), _extents(instruction, given))
        if instruction.kind == "stack":
            self._state.count(stack_bytes=size)
        else:
            size = rounded(size, instruction.alignment)
            self._state.allocate(made, size)
            self._state.count(allocations=_ONE, total_bytes=size)
        self._ranges.allocated(instruction, made, size, self._state.bytes)

    def _free(self, instruction: Instruction, env: Environment) -> None:
        buffers = env.get(instruction.operands[0])
        is_known = isinstance(buffers, Buffers)
        numbers = buffers.numbers if isinstance(buffers, Buffers) else frozenset(self._state.live)
        self._state.free(numbers, is_certain=is_known and len(numbers) == 1)
        self._ranges.freed(instruction, self._originals(numbers), self._state.bytes)

    def _copy(self, instruction: Instruction, env: Environment) -> None:
        size = _bytes(instruction.number, _numbers(instruction.operands[2:], env))
        self._state.count(copies=_ONE, copied_bytes=size)
        self._touch(instruction, env)

    def _touch(self, instruction: Instruction, env: Environment) -> None:
        buffers = [b for b in map(env.get, instruction.operands) if isinstance(b, Buffers)]
        used = frozenset().union(*(self._originals(b.numbers) for b in buffers))
        self._ranges.used(instruction, used, self._state.bytes)

    def _originals(self, numbers: frozenset[int]) -> frozenset[int]:
        while found := numbers & self._merged.keys():
            numbers = (numbers - found).union(*(self._merged[n] for n in found))
        return numbers

    # Control

    def _loop(self, loop: Instruction, env: Environment) -> None:
        (body,) = loop.regions
        lower, upper, step = _numbers(loop.operands[:3], env)
        carried = [env.get(v) for v in loop.operands[3:]]
        left = trips = count(compute("ceildivsi", (compute("subi", (upper, lower)), step)))
        self._ranges.looped(loop, trips)
        if trips.is_exact and lower.value is not None and step.value is not None:
            indices = range(lower.value, lower.value + trips.low * step.value, step.value)
            left, carried = self._run_each(body, env, indices, carried)
        if left != _NONE:
            index = Number(lower.low, None if upper.high is None else upper.high - 1)
            carried = self._run_some(lambda given: self._iterate(body, env, index, given), left, carried)
        env.update(zip(loop.results, carried, strict=True))

    def _iterate(self, body: Region, env: Environment, index: Number, carried: Sequence[Value]) -> list[Value]:
        env.update(zip(body.arguments, (index, *carried), strict=True))
        return self._region(body, env)

    def _run_each(
        self, body: Region, env: Environment, indices: range, carried: list[Value]
    ) -> tuple[Range, list[Value]]:
        """Run iterations until a fixpoint or the step limit; return how many are left."""
        varies = _takes(body, body.arguments[0])
        oldest, seen = self._count, None
        for i, index in enumerate(indices):
            left = len(indices) - i
            if self._steps > _MOST_STEPS:
                return Range(left, left), carried
            before = self._state.tally
            carried = self._iterate(body, env, known(index), carried)
            if varies:
                continue
            now = self._signature(carried, oldest)
            if now == seen:
                each = self._state.tally.minus(before)
                self._state.tally = self._state.tally.plus(each.repeated(Range(left - 1, left - 1)))
                break
            seen = now
        return _NONE, carried

    def _signature(self, carried: Sequence[Value], oldest: int) -> object:
        """Return what the next iteration depends on; buffers made in the loop are told apart by their sites."""

        def described(number: int) -> object:
            if number <= oldest:
                return number
            return self._ranges.sites_of(self._originals(frozenset({number})))

        values = tuple(
            (frozenset(map(described, v.numbers)), v.extents) if isinstance(v, Buffers) else v for v in carried
        )
        live = sorted(str((described(n), size.low, size.high)) for n, size in self._state.live.items())
        return values, tuple(live)

    def _run_some(
        self, run: Callable[[list[Value]], list[Value]], trips: Range, carried: list[Value]
    ) -> list[Value]:
        """Run iterations until a fixpoint, and join the states at which the loop may end."""
        oldest = self._count
        moments = [(self._state.copy(), carried)]
        seen = self._signature(carried, oldest)
        each: _Tally | None = None
        while len(moments) <= _ROUNDS and (trips.high is None or len(moments) <= trips.high):
            carried = run(carried)
            now = self._signature(carried, oldest)
            if now == seen:
                # From here on all iterations are alike.
                settled, _ = moments[-1]
                each = self._state.tally.minus(settled.tally)
                settled.peak = between((settled.peak, self._state.peak))
                break
            moments.append((self._state.copy(), carried))
            seen = now
        last = len(moments) - 1

        def tally_after(trips: int) -> _Tally:
            more = max(trips - last, 0)
            return moments[min(trips, last)][0].tally.plus((each or _Tally()).repeated(Range(more, more)))

        fewest = tally_after(trips.low)
        if trips.high is None:
            most = tally_after(last).plus((each or _Tally()).repeated(_ANY))
        else:
            most = tally_after(trips.high)
        carried = self._join(moments[min(trips.low, last) : None if trips.high is None else trips.high + 1])
        self._state.tally = _hull_of_tallies((fewest, most))
        if each is None and (trips.high is None or trips.high > last):
            self._state.lose_bounds()
            return [None if isinstance(v, Buffers) else UNKNOWN for v in carried]
        return carried

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
        while _number(more).value and self._steps <= _MOST_STEPS:
            more, *handed = iterate(handed)
            trips += 1
        if _number(more).value == 0:
            self._ranges.looped(loop, Range(trips, trips))
        else:
            self._ranges.looped(loop, Range(trips, None))
            handed = self._run_some(lambda given: iterate(given)[1:], _ANY, handed)
        env.update(zip(loop.results, handed, strict=True))

    def _branch(self, branch: Instruction, env: Environment) -> None:
        condition = _number(env.get(branch.operands[0])).value
        if condition is not None:
            values = self._region(branch.regions[min(abs(condition), 1)], env)
            env.update(zip(branch.results, values, strict=False))
            return
        start, ends = self._state, []
        for region in branch.regions:
            self._state = start.copy()
            values = self._region(region, env)[: len(branch.results)]
            ends.append((self._state, values))
        env.update(zip(branch.results, self._join(ends), strict=True))

    def _join(self, ends: Sequence[tuple[_State, list[Value]]]) -> list[Value]:
        """Go on with the join of several states, and return that of the values at each of them.

        Two buffers that each live at one end only, and are at the same position, become one: each of the
        ends has exactly one of them.
        """
        states, rows = [state for state, _ in ends], [list(values) for _, values in ends]
        for position in range(len(rows[0])):
            owned = [_only_here(row[position], s, states) for row, s in zip(rows, states, strict=True)]
            old = [number for number in owned if number is not None]
            if len(old) == len(owned) and len(set(old)) > 1:
                new = self._new()
                self._merged[new] = frozenset(old)
                for row, state, number in zip(rows, states, old, strict=True):
                    state.live[new] = state.live.pop(number)
                    row[:] = _renamed(row, number, new)
        self._state = _State(
            {
                n: between(s.live.get(n, _NONE) for s in states)
                for n in itertools.chain(*(s.live for s in states))
            },
            peak=between(s.peak for s in states),
            tally=_hull_of_tallies(s.tally for s in states),
        )
        self._state.measure()
        return [_one_value(column) for column in zip(*rows, strict=True)]

    def _call(self, call: Instruction, env: Environment) -> None:
        function = self._functions.get(call.name)
        if function is None:
            return
        if self._depth == _MOST_DEPTH:
            # A recursion whose end depends on data.
            self._state.lose_bounds()
            return
        self._depth += 1
        values = self._enter(function, [env.get(v) for v in call.operands])
        self._depth -= 1
        env.update(zip(call.results, values, strict=True))


def _takes(region: Region, value: int) -> bool:
    """Return True if something in a region takes a value."""
    return value in region.yields or any(
        value in i.operands or any(_takes(r, value) for r in i.regions) for i in region.body
    )


def _only_here(value: Value, state: _State, states: Sequence[_State]) -> int | None:
    """Return the buffer that a value is for certain, if it lives in this state and no other."""
    if not isinstance(value, Buffers) or len(value.numbers) != 1:
        return None
    (number,) = value.numbers
    return number if [s for s in states if number in s.live] == [state] else None


def _renamed(row: Sequence[Value], old: int, new: int) -> list[Value]:
    return [
        Buffers(frozenset({new}), v.extents) if isinstance(v, Buffers) and v.numbers == {old} else v
        for v in row
    ]


def _hull_of_tallies(tallies: Iterable[_Tally]) -> _Tally:
    return _Tally(*map(between, zip(*tallies, strict=True)))


def _one_value(values: Sequence[Value]) -> Value:
    """Join values: the hull of numbers, the union of buffers."""
    numbers = [v for v in values if isinstance(v, Number)]
    buffers = [v for v in values if isinstance(v, Buffers)]
    if len(numbers) == len(values):
        return hull(numbers)
    if len(buffers) < len(values):
        return None
    extents = [b.extents for b in buffers if b.extents is not None]
    is_known = len(extents) == len(buffers) and len(set(map(len, extents))) == 1
    each = tuple(map(hull, zip(*extents, strict=True))) if is_known else None
    return Buffers(frozenset().union(*(b.numbers for b in buffers)), each)


# Transfer functions on values: numbers, and the buffers that a value may alias.


def _number(value: Value) -> Number:
    """Return a value as a number; nothing is known of others."""
    return value if isinstance(value, Number) else UNKNOWN


def _numbers(values: Iterable[int], env: Environment) -> list[Number]:
    return [_number(env.get(v)) for v in values]


def _bytes(number: int, extents: Iterable[Number]) -> Range:
    return functools.reduce(times, map(count, extents), Range(number, number))


def _extents(instruction: Instruction, given: Iterable[Number]) -> tuple[Number, ...]:
    dynamic: Iterator[Number] = iter(given)
    return tuple(next(dynamic) if n is None else known(n) for n in instruction.extents)


def _evaluate(instruction: Instruction, values: list[Value]) -> Value:
    """Return the value that an instruction without effects defines."""
    numbers = [_number(v) for v in values]
    match instruction.kind, values:
        case "constant", _:
            return known(instruction.number)
        case "compute", _:
            return compute(instruction.name, numbers)
        case "compare", [Buffers() as a, Buffers() as b]:
            return _same_buffer(a, b, instruction.name)
        case "compare", _:
            return compare(instruction.name, *numbers)
        case "extent", [whole, *_]:
            index = numbers[1].value if instruction.number == -1 else instruction.number
            extents = (whole.extents if isinstance(whole, Buffers) else None) or ()
            return extents[index] if index is not None and 0 <= index < len(extents) else Number(0, None)
    value = values[0]
    if instruction.name == "select":
        _, yes, no = values
        chosen = numbers[0].value
        value = _one_value((yes, no)) if chosen is None else yes if chosen else no
    if isinstance(value, Buffers) and instruction.name == "view":
        return Buffers(value.numbers, _extents(instruction, numbers[1:]) or None)
    return value


def _same_buffer(a: Buffers, b: Buffers, name: str) -> Number:
    """Return whether two buffers are the same (``eq``), or are not."""
    is_same = a.numbers == b.numbers and len(a.numbers) == 1
    if name not in ("eq", "ne") or not (is_same or a.numbers.isdisjoint(b.numbers)):
        return Number(0, 1)
    return known(int(is_same == (name == "eq")))
