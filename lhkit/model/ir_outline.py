"""A schedule as plain data: its sequences, ops, handles and effects, without IR and without a payload."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.pass_policy import RefusedPass
from lhkit.model.span import Span
from lhkit.model.trace_record import HandleKind


@dataclass(frozen=True, slots=True)
class OutlineHandle:
    """A transform value as it is written: its name, its kind, and its type as text."""

    name: str
    kind: HandleKind
    type: str


@dataclass(frozen=True, slots=True)
class OutlineOp:
    """A transform op.

    Attributes:
        name: Such as ``transform.structured.match``.
        source: Its place, None for an op that no source text has.
        operands: Numbers of the handles it takes, in order.
        consumes: For each operand, whether the op consumes it.
        results: Numbers of the handles it gives.
        only_reads: True if it changes neither the payload nor a handle, nor is anything it consumes.
        may_repeat: True if it takes operands that alias one another.
        callees: Names of the sequences it enters, without ``@``.
        matchers: Names of the sequences it asks about payload ops.
        attributes: Its attributes, (name, text), in order of name.
        blocks: Its blocks of steps, one a region.
    """

    name: str
    source: Span | None
    operands: tuple[int, ...]
    consumes: tuple[bool, ...]
    results: tuple[int, ...]
    only_reads: bool
    may_repeat: bool
    callees: tuple[str, ...]
    matchers: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    blocks: tuple[OutlineBlock, ...]


@dataclass(frozen=True, slots=True)
class OutlineBlock:
    """A block of steps.

    Attributes:
        region: Number of its region in its op.
        arguments: Numbers of the handles it begins with.
        ops: Its ops in order, without the terminator.
        yielded: Numbers of the handles that its terminator hands on.
    """

    region: int
    arguments: tuple[int, ...]
    ops: tuple[OutlineOp, ...]
    yielded: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OutlineSequence:
    """A named sequence with a body; ``is_matcher`` says that ops ask it about payload ops."""

    name: str
    is_matcher: bool
    block: OutlineBlock


@dataclass(frozen=True, slots=True)
class Outline:
    """A schedule: its handles by number, its sequences in order, and its steps that run a refused pass."""

    handles: tuple[OutlineHandle, ...]
    sequences: tuple[OutlineSequence, ...]
    refused: tuple[RefusedPass, ...] = ()
