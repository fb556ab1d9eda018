"""The memory of a kernel, estimated and counted, and the interval arithmetic of the estimate."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lhkit.model.printable import printable
from lhkit.model.showable import Showable

Kind = Literal[
    "alloc", "stack", "free", "copy", "touch", "loop", "while", "branch", "call", "alias", "extent", "address",
    "constant", "compare", "compute",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """The source op of an instruction."""

    name: str
    op: str
    file: str = ""
    line: int = 0  # Line of the op, from 1; 0 if the place is not known

    @property
    def label(self) -> str:
        """Return name and op, for drawings and tables."""
        return f"{self.name} = {self.op}" if self.name else self.op


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; values are numbers, as in SSA. What a number is not defined by is not known."""

    # What it does: ``alloc`` and ``stack`` make a buffer of ``number`` bytes times the operands; ``free`` frees
    # one; ``copy`` copies the first operand to the second, ``number`` bytes times the further operands;
    # ``touch`` reads or writes buffers; ``loop`` runs its region from the first operand to the second by the
    # third, the other operands are carried; ``while`` runs its first region, and its second as long as the
    # first one's first yield is true; ``branch`` runs one of its regions, by the first operand; ``call`` runs
    # the function ``name``; ``alias`` gives its first operand, of other extents if it is a ``view``, or one of
    # the last two by the first (``select``); ``extent`` is the extent ``number`` of a buffer (-1: that of the
    # second operand), ``address`` its address; ``compare`` and ``compute`` do the arithmetic that ``name`` says
    kind: Kind
    operands: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    regions: tuple[Region, ...] = ()
    name: str = ""
    number: int = 0
    alignment: int = 1  # Of the buffer, in bytes; the size of a heap buffer is rounded up to a multiple
    extents: tuple[int | None, ...] = ()  # Of the buffer: static extents, None for the next operand
    origin: int = -1  # Index in `MemoryProgram.origins`; -1 for arithmetic


@dataclass(frozen=True, slots=True)
class Region:
    """A region: arguments, instructions, and yielded values."""

    arguments: tuple[int, ...]
    body: tuple[Instruction, ...]
    yields: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryProgram:
    """The functions of a payload, reduced to allocations, frees, copies, what decides about them, and uses."""

    entry: str
    functions: tuple[tuple[str, Region], ...]
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """A number that is known (``low == high``) or bounded; ``high`` is None where nothing bounds it."""

    low: int
    high: int | None

    @property
    def is_exact(self) -> bool:
        """True if the number is known."""
        return self.low == self.high

    def contains(self, number: int) -> bool:
        """Return True if the number may be this one."""
        return self.low <= number and (self.high is None or number <= self.high)


@dataclass(frozen=True, slots=True)
class BufferSite:
    """A place in the program that makes buffers, and where the last of them is given back.

    Program points are the instructions that allocate, free, copy or use buffers, in their order in the text.
    """

    name: str  # What it is called in drawings: the name of the value it holds, or a number
    origin: Origin
    on_stack: bool
    size_bytes: Range  # Size of one buffer, rounded up as it is asked for
    first: int
    last: int  # Program point that frees it; the last one of all if the caller gets it, or nothing frees it
    last_use: int  # Program point that reads or writes it last
    is_returned: bool = False


@dataclass(frozen=True, slots=True)
class ProgramPoint:
    """A place in the program."""

    kind: str  # ``alloc``, ``stack``, ``free``, ``copy`` or ``touch``
    origin: Origin
    live_bytes: Range  # Most heap bytes that live after it


@dataclass(frozen=True, slots=True)
class LoopSpan:
    """A loop around program points ``first`` to ``last``, at a depth from 0, and how often it runs."""

    first: int
    last: int
    depth: int
    trips: Range
    origin: Origin


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted heap requests of one call, from the last IR before LLVM; sizes rounded up as requested."""

    allocations: Range  # Buffers on the heap
    total_bytes: Range  # Their sizes together
    peak_bytes: Range  # The most that lives at once
    left_bytes: Range  # What lives when the call is over: what it returns
    copies: Range  # Copies between buffers that bufferization had to make
    copied_bytes: Range  # What they copy
    stack_bytes: Range  # Places on the stack, together; what LLVM itself puts there is not counted
    sites: tuple[BufferSite, ...]  # Every place that makes buffers, in order
    points: tuple[ProgramPoint, ...]  # The program points
    loops: tuple[LoopSpan, ...]  # The loops around them, outer before inner


@dataclass(frozen=True, slots=True)
class HeapCount:
    """Heap requests of compiled code, counted in one call."""

    allocations: int  # How many buffers
    frees: int  # How many it gave back
    total_bytes: int  # Their sizes together, as asked for
    peak_bytes: int  # The most that lived at once
    left_bytes: int  # What lived when the call was over


@dataclass(frozen=True, slots=True)
class Footprint(Showable):
    """The memory of a kernel for one call."""

    kernel: str  # What was compiled: the payload's function and its schedule
    predicted: Prediction  # The prediction from its buffers
    counted: HeapCount | None = None  # What it asked for when it ran, or None if it did not

    @property
    def pairs(self) -> tuple[tuple[str, Range, int | None], ...]:
        """Predictions and counts side by side, as (name, predicted, counted)."""
        names = ("allocations", "total_bytes", "peak_bytes", "left_bytes")
        return tuple((n, getattr(self.predicted, n), getattr(self.counted, n, None)) for n in names)

    @property
    def is_exact(self) -> bool:
        """True if everything that can be counted is predicted exactly; else there are bounds."""
        return all(predicted.is_exact for _, predicted, _ in self.pairs)

    @property
    def agrees(self) -> bool:
        """True if the counts are as predicted, or within the bounds; False if nothing was counted."""
        return all(c is not None and predicted.contains(c) for _, predicted, c in self.pairs)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.memory.kernel_memory import footprint_bundle

        return footprint_bundle(self)

    def __str__(self) -> str:
        shown = (("allocations", "heap buffers"), ("peak_bytes", "bytes at the peak"))
        predicted = ", ".join(f"{_text(getattr(self.predicted, n))} {words}" for n, words in shown)
        counted = ", ".join(f"{getattr(self.counted, n):,} {words}" for n, words in shown if self.counted)
        return f"{printable(self.kernel)}: predicted {predicted}{f'; counted {counted}' if counted else ''}"


def _text(number: Range) -> str:
    if number.is_exact:
        return f"{number.low:,}"
    return f"at least {number.low:,}" if number.high is None else f"{number.low:,} to {number.high:,}"


@dataclass(frozen=True, slots=True)
class Number:
    """An integer interval."""

    low: int | None
    high: int | None

    @property
    def value(self) -> int | None:
        """The number, if it is known."""
        return self.low if self.low == self.high else None


UNKNOWN = Number(None, None)
_NOTHING = Range(0, 0)


def known(value: int) -> Number:
    """Return a number that is known."""
    return Number(value, value)


def hull(numbers: Iterable[Number]) -> Number:
    """Return the smallest interval that contains several."""
    return functools.reduce(
        lambda a, b: Number(_if_both(min, a.low, b.low), _if_both(max, a.high, b.high)), numbers
    )


def count(number: Number) -> Range:
    """Return a number as a count or size, which is not negative."""
    return Range(max(number.low or 0, 0), None if number.high is None else max(number.high, 0))


def add(a: Range, b: Range) -> Range:
    """Return the sum."""
    return Range(a.low + b.low, _if_both(int.__add__, a.high, b.high))


def times(a: Range, b: Range) -> Range:
    """Return the product; zero times an unbounded number is zero."""
    if _NOTHING in (a, b):
        return _NOTHING
    return Range(a.low * b.low, _if_both(int.__mul__, a.high, b.high))


def between(ranges: Iterable[Range]) -> Range:
    """Return the smallest range that contains several."""
    return functools.reduce(lambda a, b: Range(min(a.low, b.low), _if_both(max, a.high, b.high)), ranges)


def largest(a: Range, b: Range) -> Range:
    """Return the larger of two numbers."""
    return Range(max(a.low, b.low), _if_both(max, a.high, b.high))


def rounded(size: Range, alignment: int) -> Range:
    """Return a size rounded up to a multiple."""
    high = None if size.high is None else -(-size.high // alignment) * alignment
    return Range(-(-size.low // alignment) * alignment, high)


def compute(name: str, operands: Sequence[Number]) -> Number:
    """Return the result of an integer op, named as in the ``arith`` dialect."""
    a, b = operands
    is_unsigned = name.endswith("ui")
    if is_unsigned and any(n.low is None or n.low < 0 for n in operands):
        return UNKNOWN
    if name in ("minsi", "minui"):
        highs = [n for n in (a.high, b.high) if n is not None]
        return Number(_if_both(min, a.low, b.low), min(highs, default=None))
    if name in ("maxsi", "maxui"):
        lows = [n for n in (a.low, b.low) if n is not None]
        return Number(max(lows, default=None), _if_both(max, a.high, b.high))
    if name == "addi":
        return Number(_if_both(int.__add__, a.low, b.low), _if_both(int.__add__, a.high, b.high))
    if name == "subi":
        return Number(_if_both(int.__sub__, a.low, b.high), _if_both(int.__sub__, a.high, b.low))
    if name in ("remsi", "remui"):
        return _remainder(a, b)
    if name in _BITWISE:
        return _bitwise(name, a, b)
    return _of_corners(_CORNERS[name], a, b) if name in _CORNERS else UNKNOWN


def compare(name: str, a: Number, b: Number) -> Number:
    """Return 1 if a comparison always holds, 0 if it never does, else their hull."""
    if name.startswith("u") and any(n.low is None or n.low < 0 for n in (a, b)):
        return Number(0, 1)
    kind = name.lstrip("su") if name not in ("eq", "ne") else name
    if kind in ("eq", "ne"):
        always = a.value is not None and a.value == b.value
        never = _below(a.high, b.low) or _below(b.high, a.low)
    else:  # a > b is b < a, a <= b is its negation
        low, high = (b, a) if kind in ("gt", "le") else (a, b)
        always, never = _below(low.high, high.low), _below(high.high, low.low, or_equal=True)
    if kind in ("ne", "le", "ge"):
        always, never = never, always
    return known(1) if always else known(0) if never else Number(0, 1)


def _below(high: int | None, low: int | None, *, or_equal: bool = False) -> bool:
    return high is not None and low is not None and (high < low or (or_equal and high == low))


def _if_both(op: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else op(a, b)


def _bitwise(name: str, a: Number, b: Number) -> Number:
    if a.value is not None and b.value is not None:
        return known(_BITWISE[name](a.value, b.value))
    if any(n.low not in (0, 1) or n.high not in (0, 1) for n in (a, b)):
        return UNKNOWN
    if name == "andi" and 0 in (a.value, b.value):
        return known(0)
    if name == "ori" and 1 in (a.value, b.value):
        return known(1)
    return Number(0, 1)


def _remainder(a: Number, b: Number) -> Number:
    if a.value is not None and b.value:
        return known(a.value - _to_zero(a.value, b.value) * b.value)
    if a.low is None or a.low < 0 or b.low is None or b.low <= 0:
        return UNKNOWN
    return Number(0, None if b.high is None else b.high - 1)


def _of_corners(op: Callable[[int, int], int], a: Number, b: Number) -> Number:
    """Return the bounds of an op that is monotonic in each operand."""
    if None in (a.low, a.high, b.low, b.high):
        # Extents are never negative, and products of them neither.
        positive = all(n.low is not None and n.low >= 0 for n in (a, b))
        return Number(0, None) if positive else UNKNOWN
    if op is not int.__mul__ and compare("eq", b, known(0)).high == 1:  # the divisor may be zero
        return UNKNOWN
    corners = [op(x, y) for x in (a.low, a.high) for y in (b.low, b.high) if x is not None and y is not None]
    return Number(min(corners), max(corners))


def _to_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_BITWISE: dict[str, Callable[[int, int], int]] = {"andi": int.__and__, "ori": int.__or__, "xori": int.__xor__}
_CORNERS: dict[str, Callable[[int, int], int]] = {
    "muli": int.__mul__,
    "divsi": _to_zero,
    "divui": int.__floordiv__,
    "floordivsi": int.__floordiv__,
    "ceildivsi": lambda a, b: -(-a // b),
    "ceildivui": lambda a, b: -(-a // b),
}
