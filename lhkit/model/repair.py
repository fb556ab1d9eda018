"""Changes of a schedule's text that were tried and help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args, overload

from lhkit.model.printable import printable
from lhkit.model.showable import Showable

RepairKind = Literal[
    "use-result",
    "match-again",
    "move-before",
    "deduplicate",
    "other-name",
    "other-root",
    "other-handle",
    "match-inside",
    "each-alone",
    "split-count",
    "sizes",
    "order",
    "type",
    "cast",
    "mark",
    "structure",
    "spelling",
    "several",
]
REPAIR_KINDS: tuple[str, ...] = get_args(RepairKind)


@dataclass(frozen=True, slots=True)
class Repair(Showable):
    """A repair: the step that failed passes with it, and no other step does worse.

    Attributes:
        kind: What sort of change it is; ``several`` where more than one was needed.
        title: What it does, as a sentence without its full stop.
        text: The whole text of the schedule with it.
        diff: The change as a unified diff.
        passes_whole: Whether the whole schedule passes with it; otherwise it fails at a later step.
        characters_changed: How many characters it removes and adds.
        doubt: How far it may be from what was meant, from 0; repairs are ranked by it before their size.
        note: What else should be known: where the schedule fails next; None where there is nothing.
    """

    kind: RepairKind
    title: str
    text: str
    diff: str
    passes_whole: bool
    characters_changed: int
    doubt: int = 0
    note: str | None = None

    def describe(self) -> str:
        """Return title, note and diff as lines."""
        lines = [f"{self.title}." + (f" {self.note}" if self.note else "")]
        return "\n".join([*lines, *("  " + line for line in self.diff.splitlines())])

    def __str__(self) -> str:
        return printable(self.describe())


@dataclass(frozen=True, slots=True)
class Repairs(Showable, Sequence[Repair]):
    """The repairs of a schedule, the best first; shows itself as titles and diffs.

    Attributes:
        found: The repairs.
    """

    found: tuple[Repair, ...]

    @overload
    def __getitem__(self, index: int) -> Repair: ...
    @overload
    def __getitem__(self, index: slice) -> Repairs: ...
    def __getitem__(self, index: int | slice) -> Repair | Repairs:
        return Repairs(self.found[index]) if isinstance(index, slice) else self.found[index]

    def __iter__(self) -> Iterator[Repair]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def describe(self) -> str:
        """Return a numbered list of titles, notes and diffs; one line that says so if there is no repair."""
        if not self.found:
            return "no repair was found."
        return "\n\n".join(f"{n}. {repair.describe()}" for n, repair in enumerate(self.found, 1))

    def __str__(self) -> str:
        return printable(self.describe())
