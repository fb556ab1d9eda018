"""A payload against another as lines: what is drawn, and what tests look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sign = Literal["", "+", "−", "~", "»"]
PartKind = Literal["operand", "type", "attribute"]


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A part of a line that is not as it was.

    Attributes:
        start: Where it begins in the new line, in characters.
        end: Where it ends; at its start where something was taken away.
        was: What stood there; the same text for an operand that is now given by another op.
        kind: What it is, as far as its place in the line tells.
    """

    start: int
    end: int
    was: str
    kind: PartKind


@dataclass(frozen=True, slots=True)
class HandleMark:
    """A handle that points to an op after the step; ``is_new`` if it did not before."""

    id: str
    name: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class IrLine:
    """A line of a diff.

    Attributes:
        sign: ``+`` of an op that was made, ``−`` erased, ``~`` changed, ``»`` moved; "" if it is as before.
        old: Its line in the old text, from 1, or None.
        new: Its line in the new text, or None: then ``text`` is the old one.
        text: How it reads.
        old_text: How it read before; None where there is no old line, or it read the same.
        parts: What of ``text`` changed, in order.
        op: Id of the op whose line it is, or None.
        inside: Ids of ops in that op that the text leaves out, on its first line; if there are others than
            before, those too.
        handles: The handles that point to the op or into what the text leaves out, on its first line.
        remark: Where the op comes from and what became of it, in words, on its first line.
        is_context: True for an unchanged line that is worth showing with those that changed.
    """

    sign: Sign
    old: int | None
    new: int | None
    text: str
    old_text: str | None = None
    parts: tuple[ChangedPart, ...] = ()
    op: str | None = None
    inside: tuple[str, ...] = ()
    handles: tuple[HandleMark, ...] = ()
    remark: str = ""
    is_context: bool = False

    @property
    def is_shown(self) -> bool:
        """False for a line that is folded away with its neighbours."""
        return bool(self.sign) or self.is_context


@dataclass(frozen=True, slots=True)
class IrDiff:
    """A payload against another.

    Attributes:
        title: What is compared to what.
        lines: The lines of both, in the order in which they are shown.
        note: What a reader should know about how ops were matched; empty if by identity.
    """

    title: str
    lines: tuple[IrLine, ...]
    note: str = ""

    @property
    def old_text(self) -> str:
        """The old payload."""
        numbered = [(i.old, i.text if i.old_text is None else i.old_text) for i in self.lines if i.old]
        return "".join(f"{text}\n" for _, text in sorted(numbered))

    @property
    def new_text(self) -> str:
        """The new payload."""
        return "".join(f"{i.text}\n" for i in self.lines if i.new)

    @property
    def counts(self) -> tuple[tuple[Sign, int], ...]:
        """How many ops have each sign, in the order of signs; an op counts once."""
        ops: dict[Sign, set[str]] = {"+": set(), "−": set(), "~": set(), "»": set()}
        for line in self.lines:
            if line.sign and line.op is not None:
                ops[line.sign].add(line.op)
        return tuple((sign, len(those)) for sign, those in ops.items() if those)
