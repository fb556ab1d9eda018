"""The loops of a structured op: its own dimensions, and the loops around it at the end of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lhkit.model.showable import Printable

DimensionRole = Literal["parallel", "reduction", "batch"]


@dataclass(frozen=True, slots=True)
class OpDimension:
    """A dimension of a structured op's iteration space."""

    name: str  # Its letter, in the order of the iteration space: i, j, k, …
    # ``reduction``: no output has it; ``batch``: all inputs and outputs of an op with a reduction have it
    role: DimensionRole
    extent: int | None  # None where it is not known


@dataclass(frozen=True, slots=True)
class LoopAround:
    """A loop around an op at the end: its kind without ``scf.``, and each of its variables."""

    kind: str
    dimensions: tuple[str, ...]  # The dimension of the op that each variable runs over; "" where not known
    steps: tuple[int | None, ...]  # The step of each variable, None where it is not a constant

    def __str__(self) -> str:
        """``forall i 16, j 32``."""
        each = zip(self.dimensions, self.steps, strict=True)
        variables = ", ".join(f"{d} {'?' if s is None else s}".strip() for d, s in each)
        return f"{self.kind} {variables}".strip()


@dataclass(frozen=True, slots=True)
class OpLoops(Printable):
    """The answer of `lhkit.loops_of`; shows itself as a picture."""

    op: str
    dimensions: tuple[OpDimension, ...]
    operands: tuple[tuple[str, str], ...]  # Of each operand its letter and its indices: ("A", "i, k")
    around: tuple[LoopAround, ...]  # From the outermost to the innermost
    left: str  # The op that does its work at the end; "" if there is none
    where: str  # Where its dimensions were read, in words
    alike: int = 1  # How many ops of the name of ``left`` are in the same loops, such as after unrolling

    @property
    def left_in_words(self) -> str:
        """What is left, and if there are others: ``vector.fma, 1 of 16``."""
        return self.left if self.alike < 2 else f"{self.left}, 1 of {self.alike}"

    @property
    def expectation(self) -> str:
        """The loops around it as an expectation that a schedule may state."""
        loops = []
        for loop in self.around:
            steps = "x".join("?" if s is None else str(s) for s in loop.steps)
            loops.append(f"{loop.kind} {steps}".strip())
        return f"loops({self.op}) == [{', '.join(loops)}]"

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.tiles.loops_picture import loops_bundle

        return loops_bundle(self)
