"""Bounded arithmetic of expressions: stack-machine instructions and built-in functions.

Every value is an integer below 2**127 in magnitude, a finite float, a bool or a string, and strings are only
compared: so each instruction takes constant time and memory, whatever the expression and its values are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lhkit.model.knob import KnobValue

Instruction = tuple[str, Any]
"""What to do, and with what:

- ``constant``: push a value; ``name``: push the value of a name.
- ``unary``, ``binary``, ``compare``, ``call`` (name, n): apply an operator or function to the n topmost values.
- ``chain`` (operator, n): compare; keep the right side and go on if true, else skip n instructions.
- ``and``, ``or`` n: skip n instructions if the topmost value decides, else drop it.
- ``unless`` n: drop the topmost value and skip n instructions if it is false; ``jump`` n: skip them.
"""

# Integers are smaller in magnitude: room for products of extents, and every operation stays cheap.
_INTEGER_BITS = 127
_INTEGER_BOUND = 1 << _INTEGER_BITS
_LONGEST_SHOWN = 40


def evaluate(code: Sequence[Instruction], values: Mapping[str, KnobValue]) -> KnobValue:
    """Return what code computes, given the values of names."""
    try:
        return _run(code, values)
    except ArithmeticError as error:
        raise ValueError(str(error)) from None


def checked_number(value: KnobValue) -> KnobValue:
    """Return a value that is within bounds."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise ValueError(f"{value} is not a finite number")
    if -_INTEGER_BOUND < value < _INTEGER_BOUND:
        return value
    raise ValueError(f"an integer is too large (they have to be below 2**{_INTEGER_BITS})")


def _run(code: Sequence[Instruction], values: Mapping[str, KnobValue]) -> KnobValue:
    stack: list[Any] = []
    at = 0
    while at < len(code):
        what, given = code[at]
        at += 1
        if what == "constant":
            stack.append(given)
        elif what == "name":
            stack.append(checked_number(values[given]))
        elif what == "chain":
            right = stack.pop()
            if _compare(given[0], stack.pop(), right):
                stack.append(right)
            else:
                stack.append(False)
                at += given[1]
        elif what in ("and", "or"):
            if bool(stack[-1]) == (what == "or"):
                at += given
            else:
                stack.pop()
        elif what == "unless":
            at += 0 if stack.pop() else given
        elif what == "jump":
            at += given
        else:
            name, count = given
            arguments = stack[-count:]
            del stack[-count:]
            stack.append(_APPLIED[what](name, *arguments))
    value: KnobValue = stack.pop()
    return value


def _divides(divisor: Any, number: Any) -> bool:
    return bool(divisor != 0 and number % divisor == 0)


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1 and exponent >= _INTEGER_BITS:
        raise ValueError(f"{base} ** {exponent} is too large")
    if base < 0 and not float(exponent).is_integer():
        raise ValueError(f"{base} ** {exponent} is not a real number")
    return base**exponent


def _shift_left(value: int, count: int) -> int:
    if count >= _INTEGER_BITS and value:
        raise ValueError(f"{value} << {count} is too large")
    return value << min(count, _INTEGER_BITS)


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": _power,
}  # fmt: skip
_OF_BITS: Mapping[str, Callable[[Any, Any], Any]] = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": _shift_left, ">>": operator.rshift,
}  # fmt: skip
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip

# Each with the least and the greatest number of its arguments.
FUNCTIONS: Mapping[str, tuple[Callable[..., Any], int, int | None]] = {
    "abs": (abs, 1, 1),
    "divides": (_divides, 2, 2),
    "max": (max, 2, None),
    "min": (min, 2, None),
}


def _unary(symbol: str, value: Any) -> Any:
    if symbol != "not" and (isinstance(value, str) or (symbol == "~" and not isinstance(value, int))):
        raise ValueError(f"unsupported operand: {symbol}{_shown(value)}")
    # The bits of a bool are those of an integer; Python is about to say so too.
    return checked_number(_UNARY[symbol](int(value) if symbol == "~" else value))


def _binary(symbol: str, left: Any, right: Any) -> Any:
    allowed: Any = int | float if symbol in _ARITHMETIC else int
    if not isinstance(left, allowed) or not isinstance(right, allowed):
        raise _unsupported(symbol, left, right)
    function = _ARITHMETIC.get(symbol) or _OF_BITS[symbol]
    return checked_number(function(left, right))


def _compare(symbol: str, left: Any, right: Any) -> bool:
    strings = isinstance(left, str) + isinstance(right, str)
    unsupported = {0: ("in", "not in"), 1: ("<", "<=", ">", ">=", "in", "not in"), 2: ()}[strings]
    if symbol in unsupported:
        raise _unsupported(symbol, left, right)
    return bool(_COMPARISONS[symbol](left, right))


def _call(name: str, *arguments: Any) -> Any:
    strings = sum(isinstance(a, str) for a in arguments)
    if strings and (strings < len(arguments) or name in ("abs", "divides")):
        raise ValueError(f"unsupported arguments: {name}({', '.join(map(_shown, arguments[:8]))})")
    return FUNCTIONS[name][0](*arguments)


_APPLIED: Mapping[str, Callable[..., Any]] = {
    "unary": _unary,
    "binary": _binary,
    "compare": _compare,
    "call": _call,
}


def _unsupported(symbol: str, left: Any, right: Any) -> ValueError:
    return ValueError(f"unsupported operands: {_shown(left)} {symbol} {_shown(right)}")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
