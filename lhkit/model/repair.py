"""A change of a schedule's text that was tried and helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

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
class Repair:
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
