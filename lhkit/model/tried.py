"""What came of trying a transform op on a handle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TriedStatus = Literal["effect", "no-effect", "fails", "crashes", "stopped", "not-tried"]


@dataclass(frozen=True, slots=True)
class Subject:
    """The payload behind a handle, as far as arguments of steps depend on it.

    Attributes:
        names: Name of each payload op.
        extents: Extent of each loop of the first op, None for an unknown one; empty where it is no linalg op.
        elements: Element type of each operand of the first op.
    """

    names: tuple[str, ...] = ()
    extents: tuple[int | None, ...] = ()
    elements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """A transform op, or a recipe of several steps, that was tried on a handle.

    Attributes:
        op: Its full name; of a recipe, the symbol of its named sequence.
        text: The step, as it can be inserted; empty if it was not tried.
        status: ``effect``: it applies and changes the payload; ``no-effect``: it applies and changes nothing;
            ``fails``; ``crashes``: it took the compiler down; ``stopped``: it took too much time or memory;
            ``not-tried``: it needs something that the schedule does not give there.
        reason: What it does or gives, or why it does not apply, in a few words.
        sentence: What the op is for.
        counts: By how many the payload ops of a name became more or fewer.
        gives: For each handle that it defines: its name, and what it points to.
        sequences: Of a recipe, the named sequences that go into the schedule with the step; empty where it
            has them already.
    """

    op: str
    text: str
    status: TriedStatus
    reason: str
    sentence: str = ""
    counts: tuple[tuple[str, int], ...] = ()
    gives: tuple[tuple[str, str], ...] = ()
    sequences: str = ""
