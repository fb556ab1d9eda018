"""The structured ops of a payload with the loops around them: which part of what each iteration touches."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.index_terms import Term
from lhkit.model.signature import Function
from lhkit.model.span import Span


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
