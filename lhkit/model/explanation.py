"""Why a handle is what it is, as a value: one sentence, and the places that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, overload

from lhkit.model.errors import Diagnostic, describe_diagnostic
from lhkit.model.printable import printable
from lhkit.model.showable import Showable
from lhkit.model.span import Span


@dataclass(frozen=True, slots=True)
class Explanation(Showable):
    """An answer to "why?".

    Attributes:
        sentence: The cause in one sentence.
        places: Where it happened, in order of time: where the handle was defined, where it died or lost its
            payload, where it was used afterwards.
        handle: Id of the handle, None where no handle is at fault.
        step: Index of the step that made it so, or None.
        texts: The sources that places point into, each as (file name, text).
    """

    sentence: str
    places: tuple[Diagnostic, ...] = ()
    handle: str | None = None
    step: int | None = None
    texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The places alone."""
        return tuple(p.span for p in self.places if p.span is not None)

    def describe(self) -> str:
        """Return the sentence, then each place with its source line and a caret."""
        lines = [self.sentence]
        for place in self.places:
            lines += describe_diagnostic(place, dict(self.texts))
        return "\n".join(lines)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.traces.report.trace_text import explanation_bundle

        return explanation_bundle(self)

    def __str__(self) -> str:
        return printable(self.describe())


# Changes of a schedule's text that were tried and help.


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

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.repairs.repair_trials import repair_bundle

        return repair_bundle(self)

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

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.repairs.repair_trials import repair_bundle

        return repair_bundle(self)

    def __str__(self) -> str:
        return printable(self.describe())


# What came of trying a transform op on a handle.


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
