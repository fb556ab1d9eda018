"""A schedule's text under edit, what an edit gives, and how one is refused.

Steps are named by position: the number of a step in the order of the text (sequences and terminators count, as
``read_steps`` lists them), a handle that it defines (``"%tiled"``), or a sequence (``"@main"``).
A handle's name is enough where only one step defines it. Numbers are those of the text before the edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.written import WrittenOp
from lhkit.text.handle_scopes import Definition, Handles, read_handles
from lhkit.text.naming import symbol_name
from lhkit.text.op_tree import BlockSyntax, OpSyntax, RegionSyntax, Syntax
from lhkit.text.parser import number_steps, read_steps, read_syntax

StepRef = int | str
SEQUENCE = "transform.named_sequence"
TERMINATOR = "transform.yield"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A piece of a text and what stands there instead."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit gives.

    Attributes:
        before: The text as it was; keeping it is undo.
        text: The new text.
        replacements: The pieces that differ, in order, as places of the old text.
        title: What was done, in a few words.
        notes: What else was done or should be known: other steps removed, names changed.
    """

    before: str
    text: str
    replacements: tuple[Replacement, ...]
    title: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A schedule's text to be edited.

    Attributes:
        text: The transform IR.
        source: Its name in messages.
        outline: Its steps as the compiler parsed them; only edits that have to know types need it.
    """

    text: str
    source: str = "<schedule>"
    outline: tuple[WrittenOp, ...] = ()

    @property
    def syntax(self) -> Syntax:
        """The text with its ops."""
        return read_syntax(self.text)

    @property
    def steps(self) -> tuple[OpSyntax, ...]:
        """The steps in the order of the text."""
        return read_steps(self.text)

    @property
    def handles(self) -> Handles:
        """The definitions of handles, with their uses."""
        return read_handles(self.text)

    def find(self, step: StepRef) -> OpSyntax:
        """Return the step that a reference means.

        Raises:
            UsageError: There is none, or several.
        """
        steps = self.steps
        if isinstance(step, int):
            if 0 <= step < len(steps):
                return steps[step]
            raise self.refusal(f"there is no step {step}; {self.source} has steps 0 to {len(steps) - 1}")
        if step.startswith("@"):
            sequences = [(op, op.symbol) for op in steps if op.name == SEQUENCE]
            found = [op for op, symbol in sequences if step in (symbol, f"@{symbol_name(symbol)}")]
        else:
            found = [op for op in steps if any(n.text == step.partition("#")[0] for n in op.results)]
        if len(found) == 1:
            return found[0]
        lines = ", ".join(str(self.line_of(op)) for op in found)
        if found:
            raise self.refusal(
                f"{step} is defined by several steps, at lines {lines}; give the number of the step"
            )
        raise self.refusal(f"no step of {self.source} defines {step}")

    def number_of(self, op: OpSyntax) -> int:
        """Return the number of a step."""
        return number_steps(self.text)[op.start]

    def line_of(self, op: OpSyntax) -> int:
        """Return the line of a step's name."""
        return self.syntax.place(op.name_start).line

    def describe(self, op: OpSyntax) -> str:
        """Return a step as messages name it, with number, op and line; another op without a number."""
        if op.start not in number_steps(self.text):
            return f"{op.name} at line {self.line_of(op)}"
        return f"step {self.number_of(op)} ({op.name}, line {self.line_of(op)})"

    def home_of(self, op: OpSyntax) -> tuple[OpSyntax | None, RegionSyntax | None, BlockSyntax, int]:
        """Return the op, the region and the block around an op, and its index in the block."""
        for owner in self.syntax.walk():
            for region in owner.regions:
                for block in region.blocks:
                    if op in block.ops:
                        return owner, region, block, block.ops.index(op)
        top = self.syntax.ops
        return None, None, BlockSyntax(None, (), top), top.index(op)

    def edited(self, replacements: Sequence[Replacement], title: str, notes: Sequence[str] = ()) -> Edited:
        """Return the edit that makes these replacements, which must not overlap."""
        ordered = tuple(sorted(replacements, key=lambda r: (r.start, r.end)))
        return Edited(self.text, with_replacements(self.text, ordered), ordered, title, tuple(notes))

    def refusal(self, message: str, at: OpSyntax | int | None = None, advice: str | None = None) -> UsageError:
        """Return the error with which an edit is refused, with the place that it is about."""
        if at is None:
            return usage_error(message, advice)
        offset = at.name_start if isinstance(at, OpSyntax) else at
        return usage_error(message, advice, at=self.syntax.place(offset, self.source), text=self.text)


def with_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    """Return a text with pieces replaced.

    Raises:
        ValueError: Two of them overlap.
    """
    pieces, at = [], 0
    for r in sorted(replacements, key=lambda r: (r.start, r.end)):
        if r.start < at:
            raise ValueError(f"replacements overlap at offset {r.start}")
        pieces += [text[at : r.start], r.text]
        at = r.end
    return "".join([*pieces, text[at:]])


def renamed(definition: Definition, new: str) -> list[Replacement]:
    """Return the replacements that rename a handle where it is defined and used; numbers of results stay."""
    starts = [definition.name.start, *(use.start for use, _ in definition.uses)]
    width = len(definition.name.text)
    return [Replacement(start, start + width, new) for start in starts]


def is_terminator(op: OpSyntax) -> bool:
    """Return True for the op that ends a block."""
    return op.name == TERMINATOR
