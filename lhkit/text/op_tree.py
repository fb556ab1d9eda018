"""Syntax tree of ops with source offsets."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from lhkit.model.span import Span
from lhkit.text.lexer import Token

# No op has more results; a text may say anything.
MOST_RESULTS = 1_000


@dataclass(frozen=True, slots=True)
class Name:
    """A definition of values: ``%x``, ``%loops:2``, or a block argument with its type."""

    text: str
    start: int
    end: int  # Where it ends, with ``:2`` and without a type
    count: int = 1
    type_span: tuple[int, int] | None = None  # Span of an argument's type; None for results

    @property
    def values(self) -> tuple[str, ...]:
        """The name of each value: ``%x``, or ``%loops#0``, ``%loops#1``."""
        return (self.text,) if self.count == 1 else tuple(f"{self.text}#{i}" for i in range(self.count))

    @property
    def written(self) -> str:
        """The name with its count: ``%x``, or ``%loops:2``."""
        return self.text if self.count == 1 else f"{self.text}:{self.count}"


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a value, ``%x`` or ``%loops#1``."""

    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name without the number of a result."""
        return self.text.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Group:
    """Brackets of an op outside its regions: a list, a dictionary, operands in parentheses."""

    opener: str
    start: int
    end: int
    # The word that the group belongs to (``tile_sizes [8]``, ``ops{…}``, ``options = [4]``), or ""
    keyword: str


@dataclass(frozen=True, slots=True)
class BlockLabel:
    """The label of a block, ``^bb0(%a: !transform.any_op):``."""

    at: Token
    tokens: tuple[Token, ...]  # The tokens behind the name, the colon included


@dataclass(frozen=True, slots=True)
class BlockSyntax:
    """A block: its arguments (those of a named sequence too) and its ops."""

    label: BlockLabel | None
    arguments: tuple[Name, ...]
    ops: tuple[OpSyntax, ...]


@dataclass(frozen=True, slots=True)
class RegionSyntax:
    """A region from ``{`` to ``}``; a text that breaks off ends it too."""

    start: int
    end: int  # Where it ends, the closing brace included
    blocks: tuple[BlockSyntax, ...]
    is_closed: bool  # False where the text ends before the region does

    @property
    def ops(self) -> tuple[OpSyntax, ...]:
        """The ops of all blocks."""
        return tuple(op for block in self.blocks for op in block.ops)

    @property
    def labels(self) -> tuple[BlockLabel, ...]:
        """The labels of its blocks."""
        return tuple(block.label for block in self.blocks if block.label is not None)


@dataclass(frozen=True, slots=True)
class OpSyntax:
    """An op as it is written."""

    name: str  # Its full name; also where it is written in the generic form, in quotes
    first: Token
    at: Token
    last: Token  # Its last token, a trailing ``loc(…)`` included
    head: tuple[Token, ...]  # The tokens behind the name, as far as the first region
    rest: tuple[Token, ...]  # The tokens behind the first region that are in none
    results: tuple[Name, ...]
    operands: tuple[Use, ...]
    groups: tuple[Group, ...]
    regions: tuple[RegionSyntax, ...]
    arguments: tuple[Name, ...]  # Arguments before its region: those of a named sequence
    # Its trailing types, from the colon or the arrow on; None where there are none
    signature: tuple[int, int] | None
    location: tuple[int, int] | None
    lead: int  # Start of the comments directly above it; its start if there are none
    tail: int  # Where a comment behind it on the same line ends; its end if there is none

    @property
    def start(self) -> int:
        """Where it begins, results included."""
        return self.first.start

    @property
    def end(self) -> int:
        """Where it ends, a trailing ``loc(…)`` included."""
        return self.last.end

    @property
    def name_start(self) -> int:
        """Start of its name: its location in the IR, if no ``loc(…)`` says otherwise."""
        return self.at.start

    @property
    def is_generic(self) -> bool:
        """True for the generic form, ``"transform.x"(…)``."""
        return self.at.kind == "string"

    @property
    def spelling(self) -> str:
        """Its name as written, without quotes; the dialect may be left out."""
        return self.at.text.strip('"')

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens behind its name that are in no region."""
        return (*self.head, *self.rest)

    def tokens_in(self, start: int, end: int) -> tuple[Token, ...]:
        """Return its tokens between two places."""
        return tuple(token for token in self.tokens if start <= token.start < end)

    @property
    def symbol(self) -> str:
        """The first symbol after its name, ``@main``, or "" if there is none."""
        return next((token.text for token in self.tokens if token.kind == "symbol"), "")

    @property
    def string(self) -> str:
        """The first string after its name, without quotes, or "" if there is none."""
        return next((token.text[1:-1] for token in self.tokens if token.kind == "string"), "")

    @property
    def result_count(self) -> int:
        """How many results it has names for, at most `MOST_RESULTS`."""
        return min(sum(name.count for name in self.results), MOST_RESULTS)

    @property
    def values(self) -> tuple[str, ...]:
        """The name of every result, ``%loops#0`` for one of several."""
        return tuple(value for name in self.results for value in name.values)

    def walk(self) -> Iterator[OpSyntax]:
        """Yield the op and the ops inside, in the order of the text."""
        yield self
        for region in self.regions:
            for op in region.ops:
                yield from op.walk()


@dataclass(frozen=True, slots=True)
class Syntax:
    """A text with the ops in it."""

    text: str
    tokens: tuple[Token, ...]
    ops: tuple[OpSyntax, ...]
    line_starts: tuple[int, ...]

    def walk(self) -> Iterator[OpSyntax]:
        """Yield every op in the order of the text, outer ones before what is inside."""
        for op in self.ops:
            yield from op.walk()

    def place(self, offset: int, source: str = "<schedule>") -> Span:
        """Return an offset as line and column of a file."""
        line = bisect.bisect_right(self.line_starts, offset)
        return Span(source, line, offset - self.line_starts[line - 1] + 1)
