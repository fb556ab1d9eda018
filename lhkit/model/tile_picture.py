"""Tile pictures as data: index terms, operands of a structured op, and the elements of an iteration."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lhkit.model.showable import Showable
from lhkit.model.signature import Function
from lhkit.model.span import Span
from lhkit.model.target import CacheLevel

TermKind = Literal[
    "constant", "loop", "dimension", "extent", "argument", "unknown", "add", "sub", "mul", "floordiv",
    "ceildiv", "mod", "min", "max",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """One node of an expression; terms are in a list and refer to one another by position."""

    # ``constant``; ``loop``: the value of loop variable ``value``; ``dimension``: the index along dimension
    # ``value`` of a structured op's iteration space; ``extent``: the extent of argument ``operands[0]``
    # along ``operands[1]``; ``argument``: the value of argument ``value``; ``unknown``; else an operation
    # on ``operands``
    kind: TermKind
    operands: tuple[int, ...] = ()  # Positions of earlier terms
    value: int = 0  # The number of a constant, loop, dimension or argument


_OPERATIONS: Mapping[TermKind, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": operator.mod,
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
}


def computed(kind: TermKind, operands: Sequence[int]) -> int | None:
    """Return the result of an operation, None for a division by zero."""
    if kind in ("floordiv", "ceildiv", "mod") and operands[1] == 0:
        return None
    return _OPERATIONS[kind](*operands)


# A constant, and the factor of each loop or dimension by its number.
Linear = tuple[int, tuple[tuple[int, int], ...]]


class TermValues:
    """Values of terms for given shapes of arguments, at iterations of loops."""

    def __init__(self, terms: Sequence[Term], shapes: Sequence[Sequence[int | None]]) -> None:
        self._terms, self._shapes = terms, shapes
        # A method's own cache would keep every instance alive.
        self.loops_of = functools.cache(self._loops_of)
        self.linear = functools.cache(self._linear)

    def value(self, term: int, loops: Mapping[int, int] | None = None) -> int | None:
        """Return the value of the term at a position, None if unknown; ``loops`` has known loop variables."""
        return self._value(term, loops or {}, {})

    def _value(self, at: int, loops: Mapping[int, int], known: dict[int, int | None]) -> int | None:
        if at in known:
            return known[at]
        term = self._terms[at]
        found: int | None
        if term.operands and term.kind != "extent":
            operands = [self._value(o, loops, known) for o in term.operands]
            numbers = [o for o in operands if o is not None]
            found = computed(term.kind, numbers) if len(numbers) == len(operands) else None
        elif term.kind == "extent":
            argument, dimension = term.operands
            found = self._shapes[argument][dimension]
        else:
            found = {"constant": term.value, "loop": loops.get(term.value)}.get(term.kind)
        known[at] = found
        return found

    def _loops_of(self, at: int) -> frozenset[int]:
        term = self._terms[at]
        if term.kind == "loop":
            return frozenset({term.value})
        if term.kind == "extent":
            return frozenset()
        return frozenset().union(*(self.loops_of(o) for o in term.operands))

    def _linear(self, at: int, kind: TermKind) -> Linear | None:
        """Return a term as a constant and the factor of each loop or dimension; None if it is not linear."""
        term = self._terms[at]
        if term.kind == kind:
            return 0, ((term.value, 1),)
        if term.kind in ("add", "sub", "mul"):
            return self._linear_of(term, kind)
        value = self.value(at)
        return None if value is None else (value, ())

    def _linear_of(self, term: Term, kind: TermKind) -> Linear | None:
        left, right = (self.linear(o, kind) for o in term.operands)
        if left is None or right is None:
            return None
        if term.kind == "mul":
            if left[1] and right[1]:
                return None
            scaled, factor = (left, right[0]) if left[1] else (right, left[0])
            return scaled[0] * factor, tuple((n, c * factor) for n, c in scaled[1])
        sign = -1 if term.kind == "sub" else 1
        factors = dict(left[1])
        for number, factor in right[1]:
            factors[number] = factors.get(number, 0) + sign * factor
        kept = tuple((n, c) for n, c in sorted(factors.items()) if c)
        return left[0] + sign * right[0], kept


@dataclass(frozen=True, slots=True)
class LoopVariable:
    """An induction variable; a loop with several has one entry for each."""

    name: str
    op: str
    loop: int  # Number of the loop in the payload; the same for variables of one loop
    lower: int  # lower, upper, step: Positions of terms; ``upper`` is exclusive
    upper: int
    step: int


@dataclass(frozen=True, slots=True)
class View:
    """A slice of a value, or a padded value.

    Index ``i`` along the view's dimension ``n`` is ``offsets[kept[n]] + strides[kept[n]] * i`` along dimension
    ``kept[n]`` of the source; dimensions that are not kept are at their offset.
    """

    op: str  # The op: a slice, or ``tensor.pad``, whose offsets are at most 0: outside is padding
    offsets: tuple[int, ...]  # Positions of terms, one per dimension of the source
    strides: tuple[int, ...]
    kept: tuple[int, ...]  # The source's dimension for each dimension of the view
    source_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TiledOperand:
    """An operand of a structured op, traced back to the whole value that contains it."""

    is_output: bool
    # Positions of terms: an index along each of its dimensions, in terms of the op's iteration space
    map: tuple[int, ...]
    views: tuple[View, ...]  # From the operand outwards
    base: str  # Name of the whole value in the payload's text if it is a block argument; else ""
    base_op: str  # The op that defines the whole value (``tensor.empty``), or ``argument``
    base_shape: tuple[int, ...]
    # Loop variables around its definition: each of their iterations defines another value
    base_loops: tuple[int, ...]
    # The op whose result the operand is (``linalg.fill`` for a tile that was filled before its use), or ""
    writer: str
    element_bytes: int | None


@dataclass(frozen=True, slots=True)
class StructuredOp:
    """A linalg op with indexing maps."""

    name: str
    number: int  # Its position among all linalg ops of the payload, from 0
    function: str
    loops: tuple[int, ...]
    path: tuple[str, ...]
    extents: tuple[int, ...]
    operands: tuple[TiledOperand, ...]  # Those with at least one dimension; scalars are left out
    flops: int  # Arithmetic operations of its body, per point of the iteration space
    is_live: bool
    source: Span | None


@dataclass(frozen=True, slots=True)
class Tilings:
    """The structured ops of a payload in the order of the text; all positions refer to ``terms``."""

    terms: tuple[Term, ...]
    loops: tuple[LoopVariable, ...]
    ops: tuple[StructuredOp, ...]
    functions: tuple[Function, ...]


# First index and one past the last, along each axis.
Box = tuple[tuple[int, int], ...]
# A row of tiles: the middle of the first and of the last, along each axis, in elements.
Sweep = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class PicturedLoop:
    """A loop around the op."""

    # The letter of the op's dimension that it tiles (``i``; ``i0``, ``i1`` for several, the outer first),
    # or its own name
    label: str
    name: str
    op: str
    first: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class PicturedOperand:
    """The whole value of an operand."""

    letter: str
    name: str
    is_output: bool
    shape: tuple[int, ...]
    axes: tuple[str, ...]  # The op's dimensions along each axis (``i``, ``i + l``)
    element_bytes: int | None
    shown: tuple[int, ...]  # The axes that are drawn, down and across; one for a strip
    stays: int  # For how many consecutive iterations the tile is the same
    returns: int  # How often a tile comes back after others
    new_in: str | None = None  # Label of the innermost loop whose iterations define a new value, or None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an operand's whole value."""

    box: Box  # Its bounding box
    counts: tuple[int, ...]  # Elements along each axis; fewer than the box where there are gaps
    steps: tuple[int, ...]  # Distance of neighbors along each axis, 0 where they are not evenly spaced
    runs: tuple[tuple[tuple[int, int], ...], ...]  # Along each axis what is consecutive: first, one past last
    elements: int  # Their number: an upper bound if ``is_exact`` is False
    is_exact: bool  # False if less than every combination of the axes is touched


@dataclass(frozen=True, slots=True)
class OperandTile:
    """The elements of an operand that one iteration touches, and those of earlier iterations."""

    tile: Part  # The tile
    visited: tuple[Part, ...]  # Parts whose union earlier iterations touched
    passes: tuple[Part, ...]  # The part that each loop touches in one run, outermost first
    # The path of the tile in this run of the innermost loop that moves it, None where none does
    row: Sweep | None
    rows: tuple[Sweep, ...]  # The rows of all runs that the next loop around makes; empty if they are many
    trend: Sweep | None  # From the beginning of the first row to that of the last, None where there is one row
    # Rows of the outermost loops that move it, where there are more than two such loops
    coarse_rows: tuple[Sweep, ...]


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """The bytes that a pass touches, compared with the caches."""

    label: str  # ``tile``, or the loop whose pass it is
    bytes: tuple[int | None, ...]
    total_bytes: int  # All operands together; a part that two read of the same argument counts once
    fits: CacheLevel | None  # The smallest cache that holds it, None if none does or none is known


@dataclass(frozen=True, slots=True)
class TileFrame:
    """The picture at one iteration (from 0), with the value of each loop and a tile per operand.

    ``working_sets`` are those of one tile, and then of a pass of each loop, innermost first.
    """

    number: int
    values: tuple[int, ...]
    tiles: tuple[OperandTile, ...]
    working_sets: tuple[WorkingSet, ...]


@dataclass(frozen=True, slots=True)
class TileEffect:
    """What the loops around an op make of it, in figures."""

    op: str
    loops: tuple[tuple[str, int], ...]  # Label and number of iterations, outermost first
    footprint_bytes: int  # Of one tile: all operands together
    fits: str  # The smallest cache that holds it, or empty
    moved_bytes: int  # Of all tiles that differ from the one before
    flops: int

    @property
    def flops_per_byte(self) -> float:
        """Arithmetic per byte moved."""
        return self.flops / self.moved_bytes if self.moved_bytes else 0.0


@dataclass(frozen=True, slots=True)
class TilePicture(Showable):
    """A structured op, the loops around it, and its operands."""

    op: str
    loops: tuple[PicturedLoop, ...]
    operands: tuple[PicturedOperand, ...]
    iterations: int
    extents: tuple[int, ...]  # The extents of the op's iteration space, in the first iteration
    caches: tuple[CacheLevel, ...] = ()
    first: int = 0  # The iteration that a still picture shows
    step: int | None = None
    where: str = ""  # Which payload of a trace it is, in words
    op_ids: tuple[str, ...] = ()  # The payload op's id in the trace, where that is known
    handles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tilings: Tilings = field(repr=False, kw_only=True)  # The structured ops that it is computed from
    structured_op: StructuredOp = field(repr=False, kw_only=True)  # The op in it
    shapes: tuple[tuple[int | None, ...], ...] = field(repr=False, kw_only=True)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.tiles.tile_svg import tiles_bundle

        return tiles_bundle(self)
