"""Diff lines as data, for drawings and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sign = Literal["", "+", "−", "~", "»"]
PartKind = Literal["operand", "type", "attribute"]


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A changed part of a line.

    Attributes:
        start: Its start in the new line, in characters.
        end: Its end; equal to start for a deletion.
        was: The old text; equal to the new one for an operand that another op defines now.
        kind: Its kind as far as the syntax tells.
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
        sign: ``+`` created, ``−`` erased, ``~`` changed, ``»`` moved, "" unchanged.
        old: Its line in the old text, from 1, or None.
        new: Its line in the new text, or None; then ``text`` is the old one.
        text: The line.
        old_text: The old line; None if there is none or it is the same.
        parts: The changed parts of ``text``, in order.
        op: Id of the op that the line belongs to, or None.
        inside: On an op's first line, ids of nested ops that the text omits, now or before.
        handles: On an op's first line, the handles that point to it or to nested ops that the text omits.
        remark: On an op's first line, its origin and end in words.
        is_context: True for an unchanged line that is shown with changed ones.
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
        """False for a line that is folded."""
        return bool(self.sign) or self.is_context


@dataclass(frozen=True, slots=True)
class IrDiff:
    """A diff of two payloads; ``note`` says how ops were matched, if not by identity."""

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
        """The number of ops per sign; an op counts once."""
        ops: dict[Sign, set[str]] = {"+": set(), "−": set(), "~": set(), "»": set()}
        for line in self.lines:
            if line.sign and line.op is not None:
                ops[line.sign].add(line.op)
        return tuple((sign, len(those)) for sign, those in ops.items() if those)
