"""What a tile picture shows: operands of a structured op, and what an iteration touches of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lhkit.model.index_terms import Term
from lhkit.model.showable import Showable
from lhkit.model.signature import Function
from lhkit.model.span import Span
from lhkit.model.target import CacheLevel

# The structured ops of a payload with the loops around them: which part of what each iteration touches.


@dataclass(frozen=True, slots=True)
class LoopVariable:
    """An induction variable; a loop with several has one entry for each.

    Attributes:
        name: As the payload's text writes it (``%i``).
        op: The loop's op (``scf.for``).
        loop: Number of the loop among those of the payload; the same for variables of one loop.
        lower: Position of the term that it starts from.
        upper: Position of the term that it stays below.
        step: Position of the term that it grows by.
    """

    name: str
    op: str
    loop: int
    lower: int
    upper: int
    step: int


@dataclass(frozen=True, slots=True)
class View:
    """A part of a value that is used as a value of its own.

    Index ``i`` along the view's dimension ``n`` is ``offsets[kept[n]] + strides[kept[n]] * i`` along dimension
    ``kept[n]`` of what it is a view of; dimensions that are not kept stand at their offset.

    Attributes:
        op: What makes it: a slice, or ``tensor.pad``, whose offsets are at most 0: outside is padding.
        offsets: Positions of terms, one a dimension of the source.
        strides: Likewise.
        kept: The source's dimension for each dimension of the view.
        source_shape: Positions of terms: the source's extents.
    """

    op: str
    offsets: tuple[int, ...]
    strides: tuple[int, ...]
    kept: tuple[int, ...]
    source_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TiledOperand:
    """An operand of a structured op, followed back to the value that it is a part of.

    Attributes:
        is_output: Whether it is written to.
        map: Positions of terms: an index along each of its dimensions, in terms of the op's iteration space.
        views: From the operand outwards.
        base: Name of the whole value, as the payload's text writes it, if it is a block's argument; else empty.
        base_op: What makes the whole value (``tensor.empty``), ``argument``, or another block's argument.
        base_shape: Positions of terms: its extents.
        base_loops: Numbers of the loop variables around what makes it: each of their iterations makes another.
        writer: The op whose result the operand is (``linalg.fill`` for a tile that was filled before its use),
            empty where that is not known.
        element_bytes: Bytes of an element in memory, None if its type has no known size.
    """

    is_output: bool
    map: tuple[int, ...]
    views: tuple[View, ...]
    base: str
    base_op: str
    base_shape: tuple[int, ...]
    base_loops: tuple[int, ...]
    writer: str
    element_bytes: int | None


@dataclass(frozen=True, slots=True)
class StructuredOp:
    """A linalg op that says by maps which element of which operand belongs to which iteration.

    Attributes:
        name: Its full name.
        number: Its place among all linalg ops of the payload, from 0.
        function: Name of the function that it is in.
        loops: Numbers of the loop variables around it, outermost first.
        path: Names of the loop ops around it, outermost first.
        extents: Positions of terms: the extents of its own iteration space.
        operands: Those with at least one dimension; scalars are left out.
        flops: Arithmetic operations of its body, at one point of the iteration space.
        is_live: False where nothing that lasts depends on it: the next clean-up removes it.
        source: Where it stands in the text.
    """

    name: str
    number: int
    function: str
    loops: tuple[int, ...]
    path: tuple[str, ...]
    extents: tuple[int, ...]
    operands: tuple[TiledOperand, ...]
    flops: int
    is_live: bool
    source: Span | None


@dataclass(frozen=True, slots=True)
class Tilings:
    """The structured ops of a payload.

    Attributes:
        terms: What offsets and sizes are made of; all positions refer to this list.
        loops: The loop variables.
        ops: The structured ops, in the order of the text.
        functions: The functions, whose arguments' extents the terms are in.
    """

    terms: tuple[Term, ...]
    loops: tuple[LoopVariable, ...]
    ops: tuple[StructuredOp, ...]
    functions: tuple[Function, ...]


# First index and one past the last, along each axis.
Box = tuple[tuple[int, int], ...]
# A sweep of tiles: the middle of the first and of the last, along each axis, in elements.
Sweep = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class PicturedLoop:
    """A loop around the op.

    Attributes:
        label: The dimension of the op that it moves along, as a letter (``i``; ``i0``, ``i1`` where several do,
            the outer first); its own name where it moves along none.
        name: As the payload's text writes it.
        op: The loop's op.
        first: Its first value.
        step: What it grows by.
        count: How often it runs, the first time.
    """

    label: str
    name: str
    op: str
    first: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class PicturedOperand:
    """An operand, as the whole value that its tiles are parts of.

    Attributes:
        letter: ``A``, ``B``, … for inputs, ``C`` for the output.
        name: What the value is called or where it comes from: ``%lhs``, ``from linalg.fill``.
        is_output: Whether it is written to.
        shape: Its extents in elements.
        axes: What moves along each axis, in letters of the op's dimensions (``i``, ``i + l``).
        element_bytes: Bytes of an element, None if not known.
        shown: The axes that are drawn, down and across; one for a strip.
        stays: For how many iterations in a row the tile is the same.
        returns: How often a tile comes back after others.
        new_in: Label of the innermost loop whose iterations each make a new value, None where it is one value.
    """

    letter: str
    name: str
    is_output: bool
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    element_bytes: int | None
    shown: tuple[int, ...]
    stays: int
    returns: int
    new_in: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an operand's whole value.

    Attributes:
        box: What it spans.
        counts: Elements along each axis; fewer than the span where there are gaps.
        steps: Distance of neighbours along each axis, 0 where they are not evenly spaced.
        elements: All of them: an upper bound if ``is_exact`` is False.
        is_exact: False where less is touched than every combination of the axes.
    """

    box: Box
    counts: tuple[int, ...]
    steps: tuple[int, ...]
    elements: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class OperandTile:
    """What one iteration touches of an operand, and what was touched before it.

    Attributes:
        tile: What it touches.
        visited: Parts that earlier iterations touched; together all of it.
        passes: The part that each loop touches while those around it stand still, outermost first.
        row: The way of the tile in this run of the innermost loop that moves it, None where none does.
        rows: The rows of all runs that the next loop around makes, if they are few; empty if they are many.
        trend: From the beginning of the first row to that of the last, None where there is one row.
        coarse_rows: Rows of the outermost loops that move it, where there are more than two such loops.
    """

    tile: Part
    visited: tuple[Part, ...]
    passes: tuple[Part, ...]
    row: Sweep | None
    rows: tuple[Sweep, ...]
    trend: Sweep | None
    coarse_rows: tuple[Sweep, ...]


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """The bytes that a pass touches, beside the caches.

    Attributes:
        label: ``tile``, or the loop whose pass it is.
        bytes: One number an operand, None where the element's size is not known.
        total_bytes: All operands together; what two read of the same argument counts once.
        fits: The smallest cache that holds it, None if none does or none is known.
    """

    label: str
    bytes: tuple[int | None, ...]
    total_bytes: int
    fits: CacheLevel | None


@dataclass(frozen=True, slots=True)
class TileFrame:
    """The picture at one iteration.

    Attributes:
        number: Which iteration, from 0.
        values: The value of each loop.
        tiles: One an operand.
        working_sets: Of one tile, and then of a pass of each loop, innermost first.
    """

    number: int
    values: tuple[int, ...]
    tiles: tuple[OperandTile, ...]
    working_sets: tuple[WorkingSet, ...]


@dataclass(frozen=True, slots=True)
class TilePicture(Showable):
    """A structured op, the loops around it, and its operands.

    Attributes:
        op: Name of the op.
        loops: The loops around it, outermost first.
        operands: Its operands, scalars left out.
        iterations: How many iterations the loops have together.
        extents: The extents of the op's own iteration space, in the first iteration.
        caches: The machine's caches, smallest first; none where they are not known.
        first: The iteration that a still picture shows.
        step: The step of the trace that it shows the payload after, None where there is no trace.
        op_ids: The payload op's id in the trace, where that is known.
        handles: Ids of the handles to it.
        notes: What has to be said with it.
        tilings: What it is computed from.
        structured_op: The op in it.
        shapes: The extents of the function's arguments.
    """

    op: str
    loops: tuple[PicturedLoop, ...]
    operands: tuple[PicturedOperand, ...]
    iterations: int
    extents: tuple[int, ...]
    caches: tuple[CacheLevel, ...] = ()
    first: int = 0
    step: int | None = None
    op_ids: tuple[str, ...] = ()
    handles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tilings: Tilings = field(repr=False, kw_only=True)
    structured_op: StructuredOp = field(repr=False, kw_only=True)
    shapes: tuple[tuple[int | None, ...], ...] = field(repr=False, kw_only=True)

    def _mime_bundle(self) -> dict[str, Any]:
        from lhkit.tiles.tile_html import tiles_bundle

        return tiles_bundle(self)
