"""Expectations: what a schedule says in comments about the payload that it leaves; those that are not met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lhkit.model.span import Span

ExpectationForm = Literal["loops", "vectorized", "inside", "none"]
# A step, the name of a knob that gives it, or None for any.
Size = int | str | None


@dataclass(frozen=True, slots=True)
class LoopPattern:
    """A loop around an op: its kind without ``scf.``, and the step of each of its variables."""

    kind: str
    sizes: tuple[Size, ...] | None = None  # None: any number of any steps

    def __str__(self) -> str:
        sizes = "" if self.sizes is None else " " + "x".join("?" if s is None else str(s) for s in self.sizes)
        return f"{self.kind}{sizes}"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One ``// lhkit: expect`` comment of a schedule."""

    form: ExpectationForm
    subjects: tuple[str, ...]  # Handles (``%x``) or full names of ops
    text: str  # As written, behind ``expect``
    at: Span
    loops: tuple[LoopPattern, ...] = ()  # From the outermost to the innermost


@dataclass(frozen=True, slots=True)
class UnmetExpectation:
    """An expectation that the payload at the end of a trace does not meet."""

    expected: str  # As written
    found: str  # What there is instead
    source: Span  # The place of the expectation
    payload_place: Span | None = None  # The place in the payload's text of the op that it is about

    @property
    def message(self) -> str:
        """What was expected and what was found, in one sentence."""
        return f"expected {self.expected}; found {self.found}"
