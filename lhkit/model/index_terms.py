"""Index arithmetic as data: sizes and offsets of a payload in terms of its loops and its arguments' extents."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

TermKind = Literal[
    "constant",
    "loop",
    "dimension",
    "extent",
    "argument",
    "unknown",
    "add",
    "sub",
    "mul",
    "floordiv",
    "ceildiv",
    "mod",
    "min",
    "max",
]


@dataclass(frozen=True, slots=True)
class Term:
    """One node of an expression; terms are in a list and refer to one another by position.

    Attributes:
        kind: ``constant``; ``loop``: the value of loop variable ``value``; ``dimension``: the index along
            dimension ``value`` of a structured op's iteration space; ``extent``: the extent of argument
            ``operands[0]`` along ``operands[1]``; ``argument``: the value of argument ``value``; ``unknown``;
            else an operation on ``operands``.
        operands: Positions of earlier terms.
        value: The number of a constant, loop, dimension or argument.
    """

    kind: TermKind
    operands: tuple[int, ...] = ()
    value: int = 0


_OPERATIONS: Mapping[TermKind, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": operator.mod,
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
}


def computed(kind: TermKind, operands: Sequence[int]) -> int | None:
    """Return the result of an operation, None for a division by zero."""
    if kind in ("floordiv", "ceildiv", "mod") and operands[1] == 0:
        return None
    return _OPERATIONS[kind](*operands)


# A constant, and the factor of each loop or dimension by its number.
Linear = tuple[int, tuple[tuple[int, int], ...]]


class TermValues:
    """Values of terms for given shapes of arguments, at iterations of loops."""

    def __init__(self, terms: Sequence[Term], shapes: Sequence[Sequence[int | None]]) -> None:
        self._terms, self._shapes = terms, shapes
        # A method's own cache would keep every instance alive.
        self.loops_of = functools.cache(self._loops_of)
        self.linear = functools.cache(self._linear)

    def value(self, term: int, loops: Mapping[int, int] | None = None) -> int | None:
        """Return the value of the term at a position, None if unknown; ``loops`` has known loop variables."""
        return self._value(term, loops or {}, {})

    def _value(self, at: int, loops: Mapping[int, int], known: dict[int, int | None]) -> int | None:
        if at in known:
            return known[at]
        term = self._terms[at]
        found: int | None
        if term.operands and term.kind != "extent":
            operands = [self._value(o, loops, known) for o in term.operands]
            numbers = [o for o in operands if o is not None]
            found = computed(term.kind, numbers) if len(numbers) == len(operands) else None
        elif term.kind == "extent":
            argument, dimension = term.operands
            found = self._shapes[argument][dimension]
        else:
            found = {"constant": term.value, "loop": loops.get(term.value)}.get(term.kind)
        known[at] = found
        return found

    def _loops_of(self, at: int) -> frozenset[int]:
        """Return the loop variables that a term depends on."""
        term = self._terms[at]
        if term.kind == "loop":
            return frozenset({term.value})
        if term.kind == "extent":
            return frozenset()
        return frozenset().union(*(self.loops_of(o) for o in term.operands))

    def _linear(self, at: int, kind: TermKind) -> Linear | None:
        """Return a term as a constant and the factor of each loop or dimension; None if it is not linear."""
        term = self._terms[at]
        if term.kind == kind:
            return 0, ((term.value, 1),)
        if term.kind in ("add", "sub", "mul"):
            return self._linear_of(term, kind)
        value = self.value(at)
        return None if value is None else (value, ())

    def _linear_of(self, term: Term, kind: TermKind) -> Linear | None:
        left, right = (self.linear(o, kind) for o in term.operands)
        if left is None or right is None:
            return None
        if term.kind == "mul":
            if left[1] and right[1]:
                return None
            scaled, factor = (left, right[0]) if left[1] else (right, left[0])
            return scaled[0] * factor, tuple((n, c * factor) for n, c in scaled[1])
        sign = -1 if term.kind == "sub" else 1
        factors = dict(left[1])
        for number, factor in right[1]:
            factors[number] = factors.get(number, 0) + sign * factor
        kept = tuple((n, c) for n, c in sorted(factors.items()) if c)
        return left[0] + sign * right[0], kept
