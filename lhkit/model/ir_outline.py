"""A schedule as plain data: its sequences, ops, handles and effects, without IR and without a payload."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.pass_policy import RefusedPass
from lhkit.model.span import Span
from lhkit.model.step_form import TypedName
from lhkit.model.trace_record import HandleKind


@dataclass(frozen=True, slots=True)
class OutlineHandle:
    """A transform value as it is written: its name, its kind, and its type as text."""

    name: str
    kind: HandleKind
    type: str


@dataclass(frozen=True, slots=True)
class OutlineOp:
    """A transform op."""

    name: str
    source: Span | None
    operands: tuple[int, ...]  # Numbers of the handles it takes, in order
    consumes: tuple[bool, ...]
    results: tuple[int, ...]
    only_reads: bool  # True if it changes neither the payload nor a handle, nor is anything it consumes
    may_repeat: bool  # True if it takes operands that alias one another
    callees: tuple[str, ...]  # Names of the sequences it enters, without ``@``
    matchers: tuple[str, ...]  # Names of the sequences it asks about payload ops
    attributes: tuple[tuple[str, str], ...]
    blocks: tuple[OutlineBlock, ...]


@dataclass(frozen=True, slots=True)
class OutlineBlock:
    """A block of steps."""

    region: int
    arguments: tuple[int, ...]
    ops: tuple[OutlineOp, ...]
    yielded: tuple[int, ...]  # Numbers of the handles that its terminator hands on


@dataclass(frozen=True, slots=True)
class OutlineSequence:
    """A named sequence with a body."""

    name: str
    block: OutlineBlock


@dataclass(frozen=True, slots=True)
class Outline:
    """A schedule: its handles by number, its sequences in order, and its steps that run a refused pass."""

    handles: tuple[OutlineHandle, ...]
    sequences: tuple[OutlineSequence, ...]
    refused: tuple[RefusedPass, ...] = ()


@dataclass(frozen=True, slots=True)
class OutlinedBlock:
    """A block of an op: the numbers of its region, of itself there, and of its arguments as values."""

    region: int
    block: int
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OutlinedOp:
    """An op of a payload."""

    name: str
    symbol: str
    parent: int | None  # Place of the op around it in the outline, None for the outermost
    region: int
    block: int
    operands: tuple[int, ...]
    results: tuple[int, ...]
    blocks: tuple[OutlinedBlock, ...]
    line: int | None  # Its line in the text, from 1; None for an op that is not written
    id: str = ""  # The op of the trace that it is; empty where that is not known


@dataclass(frozen=True, slots=True)
class PayloadOutline:
    """A payload: its values by number, and its ops, outer before inner, in the order of the text."""

    values: tuple[TypedName, ...]
    ops: tuple[OutlinedOp, ...]


@dataclass(frozen=True, slots=True)
class WrittenOp:
    """A transform op of the parsed IR that its author wrote; implied terminators are none."""

    name: str
    line: int  # Line of its name, from 1; 0 where a ``loc(…)`` says another place
    column: int
    # Names of its results, ``%loops#1`` for one of several; only their number counts if line is 0
    results: tuple[str, ...]
    result_types: tuple[str, ...]
    # For each operand, whether it is consumed; for an op that only matches, nothing is
    consumed: tuple[bool, ...]
