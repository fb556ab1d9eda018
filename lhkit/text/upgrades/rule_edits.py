"""What an upgrade is made of: edits of the text, with the reason for each, and hints where there is none."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.text.lexer import Token
from lhkit.text.op_tree import Name
from lhkit.text.script import Replacement


@dataclass(frozen=True, slots=True)
class Change:
    """A spelling rewritten.

    Attributes:
        line: Line of the old spelling, from 1, in the text as it was given.
        old: The old spelling, in short.
        new: Today's, in short.
        until: The first version of LLVM that no longer took the old one, or None where it is not known.
    """

    line: int
    old: str
    new: str
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """A spelling that was left as it is.

    Attributes:
        line: Its line, from 1.
        column: Its column.
        message: What it is.
        instead: What to write.
    """

    line: int
    column: int
    message: str
    instead: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A text with its old spellings rewritten.

    Attributes:
        text: The new text; the old one where nothing was to be done.
        changes: What was rewritten, in the order of the text.
        hints: What was not, in the order of the text, with the places of the new text.
        lines: For each line of the new text the line of the given one that it comes from.
        bind: For each extra argument of the sequence that is applied, the payload op that it takes; "" unknown.
    """

    text: str
    changes: tuple[Change, ...] = ()
    hints: tuple[Hint, ...] = ()
    lines: tuple[int, ...] = ()
    bind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One change and its edits, which are done together or not at all."""

    change: Change
    edits: tuple[Replacement, ...]


Finding = Rewrite | Hint


def replaced(token: Token | Name, text: str) -> Replacement:
    """Return the edit that puts a text in place of a token or the name of a result."""
    return Replacement(token.start, token.end, text)


def between(first: Token | Name, last: Token | Name, text: str) -> Replacement:
    """Return the edit that puts a text in place of tokens, from the first to the last of them."""
    return Replacement(first.start, last.end, text)


def inserted(offset: int, text: str) -> Replacement:
    """Return the edit that puts a text in at an offset."""
    return Replacement(offset, offset, text)


def rewrite(at: Token, old: str, new: str, *edits: Replacement, until: int | None = None) -> Rewrite:
    """Return a rewrite of what stands at a token."""
    return Rewrite(Change(at.line, old, new, until), edits)


def hint(at: Token, message: str, instead: str) -> Hint:
    """Return a hint at a token."""
    return Hint(at.line, at.column, message, instead)
