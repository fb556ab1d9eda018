"""A payload as plain data: its ops in order, what lies inside what, and which values go where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutlinedValue:
    """An SSA value: its name with ``%``, and its type as text."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class OutlinedBlock:
    """A block of an op: the numbers of its region, of itself there, and of its arguments as values."""

    region: int
    block: int
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OutlinedOp:
    """An op of a payload.

    Attributes:
        name: Such as ``linalg.matmul``.
        symbol: The symbol that it defines, with ``@``; empty for none.
        parent: Place of the op around it in the outline, None for the outermost.
        region: Number of the region that it stands in.
        block: Number of its block there.
        operands: Numbers of the values that it takes.
        results: Numbers of the values that it gives.
        blocks: Its own blocks.
        line: The line of the text that it stands in, from 1; None for an op that is not written.
        id: The op of the trace that it is; empty where that is not known.
    """

    name: str
    symbol: str
    parent: int | None
    region: int
    block: int
    operands: tuple[int, ...]
    results: tuple[int, ...]
    blocks: tuple[OutlinedBlock, ...]
    line: int | None
    id: str = ""


@dataclass(frozen=True, slots=True)
class PayloadOutline:
    """A payload: its values by number, and its ops, outer before inner, in the order of the text."""

    values: tuple[OutlinedValue, ...]
    ops: tuple[OutlinedOp, ...]
