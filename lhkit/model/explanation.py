"""Explanations, repairs, and trials of transform ops, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

from lhkit.model.errors import Diagnostic, describe_diagnostic, head_of
from lhkit.model.printable import counted
from lhkit.model.showable import Described
from lhkit.model.span import Span
from lhkit.model.tile_picture import Tilings


@dataclass(frozen=True, slots=True)
class Explanation(Described):
    """The answer of `Trace.why`."""

    sentence: str  # The cause in one sentence
    # Definition, death or loss of payload, and later uses, in order of time
    places: tuple[Diagnostic, ...] = ()
    handle: str | None = None  # Id of the handle at fault, or None
    step: int | None = None  # Index of the responsible step, or None
    # The sources that places point into, each as (file name, text)
    texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    advice: str | None = None  # The next step to take, of a failure

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the places."""
        return tuple(p.span for p in self.places if p.span is not None)

    def describe(self) -> str:
        """Return the sentence, then each place with its source line and a caret, then what to do next."""
        places = [line for p in self.places for line in describe_diagnostic(p, dict(self.texts))]
        head = head_of(self.sentence, self.places)
        return "\n".join(line for line in (head, *places, self.advice) if line)


RepairKind = Literal[
    "use-result", "match-again", "move-before", "deduplicate", "other-name", "other-root", "other-handle",
    "match-inside", "each-alone", "split-count", "sizes", "order", "type", "cast", "mark", "structure",
    "spelling", "several", "gate", "loop", "fusion", "operand-number", "generalize", "padding",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repair(Described):
    """A repair: the failed step passes with it, and no other step does worse."""

    kind: RepairKind  # The kind of edit; ``several`` for a combination
    title: str  # What it does, as a sentence without its full stop
    text: str  # The repaired text of the schedule
    diff: str  # The edit as a unified diff
    passes_whole: bool  # Whether the whole schedule passes with it; otherwise it fails at a later step
    characters_changed: int  # Number of characters removed and added
    # The risk that it is not what the author meant, from 0; repairs are ranked by it before their size
    doubt: int = 0
    note: str | None = None  # Where the schedule fails next, or None
    payload: str | None = None  # What is in which loops at the end of the trace with it, in a line, or None
    warnings: tuple[str, ...] = ()  # Kinds of warnings left with it

    def describe(self) -> str:
        """Return title, note and diff as lines, then what the payload is like and which warnings are left."""
        lines = [f"{self.title}." + (f" {self.note}" if self.note else "")]
        lines += ["  " + line for line in self.diff.splitlines()]
        if self.payload:
            lines.append(f"  The payload then has {self.payload}.")
        if self.warnings:
            lines.append(f"  Still warned of: {', '.join(self.warnings)}.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Repairs(Described, Sequence[Repair]):
    """The repairs of a schedule, the best first; shows itself as titles and diffs."""

    found: tuple[Repair, ...]

    @overload
    def __getitem__(self, index: int) -> Repair: ...
    @overload
    def __getitem__(self, index: slice) -> Repairs: ...
    def __getitem__(self, index: int | slice) -> Repair | Repairs:
        return Repairs(self.found[index]) if isinstance(index, slice) else self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def describe(self) -> str:
        """Return a numbered list of titles, notes and diffs."""
        if not self.found:
            return "no repair was found."
        return "\n\n".join(f"{n}. {repair.describe()}" for n, repair in enumerate(self.found, 1))


FusionCause = Literal[
    "fused", "wrong-order", "several-uses", "folded-transpose", "folded-pad", "indivisible-sizes", "map",
    "outside-the-loop", "dead-handle", "empty-handle", "side-effects", "no-dependence", "reversed",
    "not-tileable", "reduction", "named-ops", "not-asked", "failed-before", "unknown",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class FusionAnswer(Described):
    """The answer of `lhkit.why_not_fused`."""

    producer: str  # The two ops, with their places
    consumer: str
    cause: FusionCause  # ``unknown`` where no known cause fits: ``facts`` has what is known
    sentence: str
    places: tuple[Diagnostic, ...] = ()
    step: int | None = None  # Index of the step that took the opportunity away, or None
    facts: tuple[str, ...] = ()  # Who reads the producer, what is between the two, which loops are around them
    # Changes of the schedule; each was applied: the schedule passes, and the two are fused in its payload
    repairs: Repairs = Repairs(())
    tried: int = 0  # The number of changes that were tried
    tried_kinds: tuple[str, ...] = ()  # What they change, in words
    texts: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def describe(self) -> str:
        """Return the sentence, the places with source lines, the facts, and the repairs with their edits."""
        lines = [f"{self.sentence} [{self.cause}]"]
        lines += [line for p in self.places for line in describe_diagnostic(p, dict(self.texts))]
        lines += [f"- {fact}" for fact in self.facts]
        if self.repairs:
            lines += ["", "Repairs that were tried; with each the two are fused:", self.repairs.describe()]
        elif self.tried:
            what = f" ({', '.join(self.tried_kinds)})" if self.tried_kinds else ""
            lines += ["", f"{counted(self.tried, 'change')} of the schedule tried{what}; none fuses the two."]
        return "\n".join(lines)


TriedStatus = Literal["effect", "no-effect", "fails", "crashes", "stopped", "not-tried"]


@dataclass(frozen=True, slots=True)
class Subject:
    """The payload of a handle: op names, and loop extents and element types of a first linalg op."""

    names: tuple[str, ...] = ()
    extents: tuple[int | None, ...] = ()
    elements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of trying a transform op, or a recipe of several steps, on a handle."""

    op: str  # Its full name; of a recipe, the symbol of its named sequence
    text: str
    # ``effect``: it applies and changes the payload; ``no-effect``: it applies and changes nothing;
    # ``fails``; ``crashes``: the compiler crashed; ``stopped``: it exceeded time or memory; ``not-tried``:
    # it needs something that the schedule does not have there
    status: TriedStatus
    reason: str
    sentence: str = ""
    counts: tuple[tuple[str, int], ...] = ()
    gives: tuple[tuple[str, str], ...] = ()  # For each handle that it defines: its name, and what it points to
    sequences: str = ""  # Of a recipe, named sequences to add to the schedule; "" if it has them already
    # The structured ops of the payload without the step and with it, where it has an effect
    tilings: tuple[Tilings, Tilings] | None = field(default=None, repr=False, compare=False)
