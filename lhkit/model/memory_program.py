"""A payload reduced to what decides about its memory: a small program, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "alloc",
    "stack",
    "free",
    "copy",
    "touch",
    "loop",
    "while",
    "branch",
    "call",
    "alias",
    "extent",
    "address",
    "constant",
    "compare",
    "compute",
]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an instruction comes from: the op that its author wrote.

    Attributes:
        name: The name of what the op computes (``%product``), or "" if it has none.
        op: Its name as written (``linalg.matmul``), or that of the op in the buffered IR.
        file: File as people know it, or "".
        line: Line of the op, from 1; 0 if the place is not known.
    """

    name: str
    op: str
    file: str = ""
    line: int = 0

    @property
    def label(self) -> str:
        """Return name and op, for drawings and tables."""
        return f"{self.name} = {self.op}" if self.name else self.op


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; values are numbers, as in SSA. What a number is not defined by is not known.

    Attributes:
        kind: What it does:
            ``alloc`` and ``stack`` make a buffer of ``number`` bytes times the operands; ``free`` frees one;
            ``copy`` copies the first operand to the second, ``number`` bytes times the further operands;
            ``touch`` reads or writes buffers; ``loop`` runs its region from the first operand to the
            second by the third, the other operands are carried; ``while`` runs its first region, and its
            second as long as the first one's first yield is true; ``branch`` runs one of its regions, by
            the first operand; ``call`` runs the function ``name``; ``alias`` gives its first operand, of
            other extents if it is a ``view``, or one of the last two by the first (``select``);
            ``extent`` is the extent ``number`` of a buffer (-1: that of the second operand), ``address``
            its address; ``compare`` and ``compute`` do the arithmetic that ``name`` says.
        operands: Values it takes.
        results: Values it gives.
        regions: What it runs.
        name: See ``kind``.
        number: See ``kind``.
        alignment: Of the buffer, in bytes; the size of a heap buffer is rounded up to a multiple.
        extents: Of the buffer: static extents, None for the next operand.
        origin: Index in `MemoryProgram.origins`; -1 for arithmetic.
    """

    kind: Kind
    operands: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    regions: tuple[Region, ...] = ()
    name: str = ""
    number: int = 0
    alignment: int = 1
    extents: tuple[int | None, ...] = ()
    origin: int = -1


@dataclass(frozen=True, slots=True)
class Region:
    """What an instruction runs: values it is given, instructions, values it hands on."""

    arguments: tuple[int, ...]
    body: tuple[Instruction, ...]
    yields: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryProgram:
    """The functions of a payload, reduced to allocations, frees, copies, what decides about them, and uses.

    Attributes:
        entry: Name of the function that is called.
        functions: Each as (name, region).
        origins: Where instructions come from.
    """

    entry: str
    functions: tuple[tuple[str, Region], ...]
    origins: tuple[Origin, ...]
