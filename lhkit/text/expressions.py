"""Parser and compiler of expressions over knobs and target facts.

Numbers, strings, ``True``, ``False`` and names; ``+ - * / // % **``, ``& | ^ ~ << >>``, comparisons (chained
as in Python), ``in`` and ``not in`` of strings, ``and``, ``or``, ``not``, ``A if CONDITION else B``, and the
functions ``abs``, ``divides``, ``max`` and ``min``. Operators bind as in Python.

A text may come from anybody's file: its length is bounded, and reading it does not recurse. Operator-precedence
parsing turns it into code for a stack machine: each operand is the list of instructions that computes it.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.span import Span

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


def _checked(value: KnobValue) -> KnobValue:
    """Return a value that is within bounds."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    if isinstance(value, int) and abs(value) >= _INTEGER_BOUND:
        raise ValueError(f"an integer is too large (they have to be below 2**{_INTEGER_BITS})")
    return value


def _run(code: Sequence[Instruction], values: Mapping[str, KnobValue]) -> KnobValue:
    stack: list[Any] = []
    at = 0
    while at < len(code):
        what, given = code[at]
        at += 1
        if what == "constant":
            stack.append(given)
        elif what == "name":
            stack.append(_checked(values[given]))
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
    return _checked(_UNARY[symbol](int(value) if symbol == "~" else value))


def _binary(symbol: str, left: Any, right: Any) -> Any:
    allowed: Any = int | float if symbol in _ARITHMETIC else int
    if not isinstance(left, allowed) or not isinstance(right, allowed):
        raise _unsupported(symbol, left, right)
    function = _ARITHMETIC.get(symbol) or _OF_BITS[symbol]
    return _checked(function(left, right))


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


_MOST_CHARACTERS = 10_000
_MOST_TOKENS = 2_000
_MOST_SHOWN = 80
_LONGEST_NUMBER = 200

# Each with the white space behind it.
_TOKEN = re.compile(
    r"""(?:(?P<number>0[xXbBoO][0-9a-fA-F_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9][0-9_]*)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<string>'[^'\\\n]*'|"[^"\\\n]*")
    |(?P<mark>\*\*|//|<<|>>|<=|>=|==|!=|[-+*/%&|^~<>(),]))\s*""",
    re.VERBOSE,
)
_WORDS = frozenset(("and", "or", "not", "if", "else", "in"))
_LITERALS: Mapping[str, bool] = {"True": True, "False": False}

# How tightly operators bind. All are read from the left, but ``**`` and ``if``.
_OPEN, _TERNARY, _OR, _AND, _NOT, _COMPARISON, _SIGN, _POWER = 0, 1, 2, 3, 4, 5, 12, 13
_PREFIXES: Mapping[str, int] = {"(": _OPEN, "-": _SIGN, "+": _SIGN, "~": _SIGN, "not": _NOT}
_BINARY: Mapping[str, int] = {
    **{"or": _OR, "and": _AND, "**": _POWER, "|": 6, "^": 7, "&": 8, "<<": 9, ">>": 9, "+": 10, "-": 10},
    **dict.fromkeys(("*", "/", "//", "%"), 11),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in", "not in"), _COMPARISON),
}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was read and whose names are known."""

    text: str
    names: tuple[str, ...]
    _code: tuple[Instruction, ...]

    def holds(self, values: Mapping[str, KnobValue]) -> bool:
        """Return whether it is true of values, one for each of its names."""
        return bool(self.value(values))

    def value(self, values: Mapping[str, KnobValue]) -> KnobValue:
        """Return what it is for values, one for each of its names."""
        try:
            return _run(self._code, values)
        except ArithmeticError as error:
            raise ValueError(str(error)) from None


def parse_expression(
    text: str, known: Collection[str], *, owner: str, at: Span, source: str, named: str = "knob"
) -> Expression:
    """Return the expression that a text is."""
    place = _Place(text, at, source)
    tokens = _tokens(place)
    code = _Parser(place, tokens).parse()
    names = {t.text: t for t in reversed(tokens) if t.kind == "name"}
    for name, token in sorted(names.items(), key=lambda item: item[1].start):
        if name not in known:
            have = ", ".join(sorted(known)) or "none"
            message = f"{owner} has no {named} {name!r}"
            raise usage_error(message, f"Its {named}s: {have}.", at=place.span(token.start), text=source)
    return Expression(text, tuple(sorted(names)), tuple(code))


@dataclass(frozen=True, slots=True)
class _Place:
    """A text, and where it is in its source."""

    text: str
    at: Span
    source: str

    def span(self, offset: int) -> Span:
        """Return the place of an offset into the text."""
        lines = self.text.count("\n", 0, offset)
        start = self.text.rfind("\n", 0, offset) + 1
        column = offset - start + (1 if lines else self.at.column)
        return Span(self.at.file, self.at.line + lines, column)

    def refused(self, reason: str, offset: int) -> UsageError:
        """Return the error for a text that is not an expression for a reason, seen at an offset."""
        shown = self.text if len(self.text) <= _MOST_SHOWN else f"{self.text[:_MOST_SHOWN]}…"
        return usage_error(f"{shown!r} is not an expression: {reason}", at=self.span(offset), text=self.source)


@dataclass(frozen=True, slots=True)
class _Token:
    """One word of an expression; ``kind`` is number, name, function, string, mark or end."""

    kind: str
    text: str
    start: int


def _tokens(place: _Place) -> list[_Token]:
    """Return the words of a text, an end marker last."""
    text = place.text
    if len(text) > _MOST_CHARACTERS:
        raise place.refused(f"it is longer than {_MOST_CHARACTERS:,} characters", 0)
    found: list[_Token] = []
    offset = len(text) - len(text.lstrip())
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None or match.lastgroup is None:
            is_string = text[offset] in "'\""
            what = "a string without an end, or with an escape" if is_string else f"{text[offset]!r}"
            raise place.refused(f"it has {what}", offset)
        if len(found) == _MOST_TOKENS:
            raise place.refused(f"it has more than {_MOST_TOKENS:,} words", offset)
        kind, word, start, offset = match.lastgroup, match[match.lastgroup], offset, match.end()
        if kind == "name" and word in _WORDS:
            kind = "mark"
        elif kind == "name" and text.startswith("(", offset):
            kind = "function"
            if word not in FUNCTIONS:
                message = f"there is no function {word!r} in expressions"
                advice = f"Their functions: {', '.join(FUNCTIONS)}."
                raise usage_error(message, advice, at=place.span(start), text=place.source)
        elif kind == "name" and word in _LITERALS:
            kind = "literal"
        found.append(_Token(kind, word, start))
    return [*found, _Token("end", "the end", len(text))]


@dataclass(slots=True)
class _Operand:
    """The instructions that compute a value."""

    code: list[Instruction]
    # For a comparison that is not in parentheses: where its code skips to its end from
    links: list[int] | None = None


@dataclass(frozen=True, slots=True)
class _Operator:
    """An operator, or an opening parenthesis, that waits for what is behind it."""

    text: str
    binds: int
    start: int
    operands: int = 2
    function: str = ""
    arguments: int = 0  # How many of the function's arguments have a comma behind them


class _Parser:
    """Reads one expression from the left to the right, with what is pending on two stacks."""

    def __init__(self, place: _Place, tokens: list[_Token]) -> None:
        self._place = place
        self._tokens = tokens
        self._operands: list[_Operand] = []
        self._operators: list[_Operator] = []
        self._at = 0

    def parse(self) -> list[Instruction]:
        wants_operand = True
        while wants_operand or self._tokens[self._at].kind != "end":
            token = self._tokens[self._at]
            self._at += 1
            wants_operand = self._operand(token) if wants_operand else self._operator(token)
        self._reduce(_OPEN + 1)
        if self._operators:
            raise self._place.refused("a parenthesis is not closed", self._operators[-1].start)
        return self._operands.pop().code

    def _operand(self, token: _Token) -> bool:
        """Read a token where an operand begins; return whether an operand is still to come."""
        if token.kind == "number":
            self._operands.append(_Operand([("constant", self._number(token))]))
        elif token.kind == "string":
            self._operands.append(_Operand([("constant", token.text[1:-1])]))
        elif token.kind == "literal":
            self._operands.append(_Operand([("constant", _LITERALS[token.text])]))
        elif token.kind == "name":
            self._operands.append(_Operand([("name", token.text)]))
        elif token.kind == "function":
            self._at += 1  # its parenthesis
            self._operators.append(_Operator("(", _OPEN, token.start, function=token.text))
            return True
        elif token.text in _PREFIXES and (
            token.text != "not" or not self._operators or self._operators[-1].binds <= _NOT
        ):
            self._operators.append(_Operator(token.text, _PREFIXES[token.text], token.start, 1))
            return True
        elif token.text == ")" and self._operators and self._operators[-1].arguments:
            self._close(self._operators.pop(), 0)  # a comma behind the last argument
        else:
            raise self._place.refused(f"expected a value, found {token.text}", token.start)
        return False

    def _operator(self, token: _Token) -> bool:
        """Read a token behind an operand; return whether another operand has to follow."""
        text = token.text
        if text == "not" and self._tokens[self._at].text == "in":
            self._at += 1
            text = "not in"
        if text == ")":
            self._reduce(_OPEN + 1)
            if not self._operators:
                raise self._place.refused("a parenthesis is closed that was not opened", token.start)
            self._close(self._operators.pop(), 1)
            return False
        if text == ",":
            self._reduce(_OPEN + 1)
            if not self._operators or not self._operators[-1].function:
                raise self._place.refused("a comma outside of a function's arguments", token.start)
            self._operators[-1] = replace(self._operators[-1], arguments=self._operators[-1].arguments + 1)
        elif text == "if":
            self._reduce(_TERNARY + 1)
            if self._operators and self._operators[-1].text == "if":
                raise self._place.refused("put the condition in parentheses", token.start)
            self._operators.append(_Operator("if", _TERNARY, token.start))
        elif text == "else":
            self._reduce(_TERNARY + 1)
            if not self._operators or self._operators[-1].text != "if":
                raise self._place.refused("'else' without 'if'", token.start)
            self._operators[-1] = _Operator("else", _TERNARY, token.start, 3)
        elif token.kind == "mark" and text in _BINARY:
            binds = _BINARY[text]
            self._reduce(binds + (text == "**"))
            if text in ("and", "or"):
                self._operands[-1].code.append((text, 0))
            self._operators.append(_Operator(text, binds, token.start))
        else:
            raise self._place.refused(f"expected an operator, found {token.text}", token.start)
        return True

    def _reduce(self, binds: int) -> None:
        """Apply the pending operators that bind at least so tightly."""
        while self._operators and self._operators[-1].binds >= binds:
            self._apply(self._operators.pop())

    def _apply(self, applied: _Operator) -> None:
        """Replace the operands of an operator by what it makes of them."""
        symbol = applied.text
        if symbol == "if":
            raise self._place.refused("'if' without 'else'", applied.start)
        right = self._operands.pop() if applied.operands > 1 else _Operand([])
        if symbol == "else":
            condition, then = self._operands.pop(), self._operands.pop()
            skipped, behind = ("unless", len(then.code) + 1), ("jump", len(right.code))
            code = [*condition.code, skipped, *then.code, behind, *right.code]
            self._operands.append(_Operand(code))
            return
        left = self._operands[-1]
        links = left.links
        left.links = None
        if applied.operands == 1:
            left.code.append(("unary", (symbol, 1)))
        elif symbol in ("and", "or"):
            left.code[-1] = (symbol, len(right.code))
            left.code += right.code
        elif applied.binds != _COMPARISON:
            left.code += [*right.code, ("binary", (symbol, 2))]
        else:
            left.links = links or []
            if links is not None:
                left.links.append(len(left.code) - 1)
            left.code += [*right.code, ("compare", (symbol, 2))]
            for link in left.links:
                compared = left.code[link][1][0]
                left.code[link] = ("chain", (compared, len(left.code) - 1 - link))

    def _close(self, opened: _Operator, more: int) -> None:
        """End a parenthesis: of a group, or of a function's arguments with so many behind the last comma."""
        name = opened.function
        if not name:
            self._operands[-1].links = None
            return
        count = opened.arguments + more
        _, least, most = FUNCTIONS[name]
        if count < least or (most is not None and count > most):
            wanted = "at least two arguments" if most is None else f"{least} argument{'s' * (least > 1)}"
            raise self._place.refused(f"{name} takes {wanted}, not {count}", opened.start)
        arguments = self._operands[-count:]
        del self._operands[-count:]
        code = [instruction for argument in arguments for instruction in argument.code]
        self._operands.append(_Operand([*code, ("call", (name, count))]))

    def _number(self, token: _Token) -> KnobValue:
        text = token.text
        is_float = text[:2].lower() not in ("0x", "0b", "0o") and any(c in text for c in ".eE")
        try:
            if len(text) > _LONGEST_NUMBER:
                raise ValueError("a number is too long")
            return _checked(float(text) if is_float else int(text, 0))
        except ValueError as error:
            said = str(error)
            reason = f"{text} is not a number" if "literal" in said or "convert" in said else said
            raise self._place.refused(reason, token.start) from None
