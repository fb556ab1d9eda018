"""The transform ops of a schedule as the compiler parsed them, to hold a reading of the text against."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrittenOp:
    """A transform op of the parsed IR that its author wrote; implied terminators are none.

    Attributes:
        name: Its full name.
        line: Line of its name, from 1; 0 where a ``loc(…)`` says another place.
        column: Column of its name in characters, from 1; 0 likewise.
        results: Names of its results, ``%loops#1`` for one of several; only their number counts if line is 0.
        result_types: Their types.
        operand_types: Types of its operands.
        consumed: For each operand, whether it is consumed; for an op that only matches, nothing is.
    """

    name: str
    line: int
    column: int
    results: tuple[str, ...]
    result_types: tuple[str, ...]
    operand_types: tuple[str, ...]
    consumed: tuple[bool, ...]
