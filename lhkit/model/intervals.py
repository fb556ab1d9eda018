"""Interval arithmetic on integers; a missing bound is None."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lhkit.model.memory_footprint import Range


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
    given = list(numbers)
    lows, highs = [n.low for n in given], [n.high for n in given]
    low = None if None in lows else min(n for n in lows if n is not None)
    return Number(low, None if None in highs else max(n for n in highs if n is not None))


def count(number: Number) -> Range:
    """Return a number as a count or size, which is not negative."""
    return Range(max(number.low or 0, 0), None if number.high is None else max(number.high, 0))


def add(a: Range, b: Range) -> Range:
    """Return the sum."""
    return Range(a.low + b.low, None if a.high is None or b.high is None else a.high + b.high)


def times(a: Range, b: Range) -> Range:
    """Return the product; zero times an unbounded number is zero."""
    if _NOTHING in (a, b):
        return _NOTHING
    return Range(a.low * b.low, None if a.high is None or b.high is None else a.high * b.high)


def between(ranges: Iterable[Range]) -> Range:
    """Return the smallest range that contains several."""
    given = list(ranges)
    highs = [r.high for r in given]
    return Range(min(r.low for r in given), None if None in highs else max(h for h in highs if h is not None))


def largest(a: Range, b: Range) -> Range:
    """Return the larger of two numbers."""
    return Range(max(a.low, b.low), None if a.high is None or b.high is None else max(a.high, b.high))


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
        return Number(_if_both(min, a.low, b.low), _least_known(a.high, b.high))
    if name in ("maxsi", "maxui"):
        lows = [n for n in (a.low, b.low) if n is not None]
        return Number(max(lows, default=None), _if_both(max, a.high, b.high))
    if name in ("addi",):
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
    if kind in ("gt", "ge"):
        return compare({"gt": "slt", "ge": "sle"}[kind], b, a)
    if kind == "lt":
        always, never = _below(a.high, b.low), _below(b.high, a.low, or_equal=True)
    elif kind == "le":
        always, never = _below(a.high, b.low, or_equal=True), _below(b.high, a.low)
    else:
        same = a.value is not None and a.value == b.value
        apart = _below(a.high, b.low) or _below(b.high, a.low)
        always, never = (same, apart) if kind == "eq" else (apart, same)
    return known(1) if always else known(0) if never else Number(0, 1)


def _below(high: int | None, low: int | None, *, or_equal: bool = False) -> bool:
    return high is not None and low is not None and (high < low or (or_equal and high == low))


def _if_both(op: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else op(a, b)


def _least_known(a: int | None, b: int | None) -> int | None:
    return min((n for n in (a, b) if n is not None), default=None)


def _bitwise(name: str, a: Number, b: Number) -> Number:
    """Return and, or, xor of conditions and of known numbers."""
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
    if op is not int.__mul__ and _holds_zero(b):
        return UNKNOWN
    corners = [op(x, y) for x in (a.low, a.high) for y in (b.low, b.high) if x is not None and y is not None]
    return Number(min(corners), max(corners))


def _holds_zero(number: Number) -> bool:
    return number.low is not None and number.high is not None and number.low <= 0 <= number.high


def _to_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_BITWISE: dict[str, Callable[[int, int], int]] = {
    "andi": int.__and__,
    "ori": int.__or__,
    "xori": int.__xor__,
}
_CORNERS: dict[str, Callable[[int, int], int]] = {
    "muli": int.__mul__,
    "divsi": _to_zero,
    "divui": int.__floordiv__,
    "floordivsi": int.__floordiv__,
    "ceildivsi": lambda a, b: -(-a // b),
    "ceildivui": lambda a, b: -(-a // b),
}
