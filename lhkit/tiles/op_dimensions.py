"""The dimensions of a structured op, by its indexing maps, and the loops around it at the end of a trace."""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.model.errors import public
from lhkit.model.expectation import LoopPattern
from lhkit.model.op_loops import DimensionRole, LoopAround, OpDimension, OpLoops
from lhkit.model.tile_picture import StructuredOp, TermValues, TiledOperand, Tilings
from lhkit.model.trace_record import Trace
from lhkit.tiles.tile_facts import (
    argument_shapes,
    dimension_letter,
    expression_text,
    loop_labels,
    operand_letters,
)
from lhkit.tiles.tile_requests import chosen_op
from lhkit.traces.intent.final_payload import FinalPayload
from lhkit.worker.client import Worker


@public
def loops_of(trace: Trace, op: str | int | None = None, *, worker: Worker | None = None) -> OpLoops:
    """Return the loops of a structured op: names, order and roles of its own, and those around it at the end.

    Args:
        trace: The trace of a schedule.
        op: A handle by name or id (``%tiled``), a payload op by id or by name (``linalg.matmul``, the one with
            most work), or a number among the linalg ops of the text, from 0. Default: the one with most work.
        worker: Another worker than the session's.

    Returns:
        An immutable value that shows itself as a picture.

    Raises:
        UsageError: There is no such op, or no structured op at all.
    """
    tilings, chosen, op_id, where = chosen_op(trace, op, worker)
    values = TermValues(tilings.terms, argument_shapes(tilings, chosen, None))
    around, left, alike = _at_the_end(trace, op_id)
    return OpLoops(
        op=chosen.name,
        dimensions=_dimensions(chosen, values),
        operands=tuple(
            (letter, ", ".join(expression_text(index, values) for index in operand.map))
            for operand, letter in zip(chosen.operands, operand_letters(chosen), strict=True)
        ),
        around=_named(around, _labels(tilings, chosen, values)),
        left=left,
        where=where,
        alike=alike,
    )


def _dimensions(op: StructuredOp, values: TermValues) -> tuple[OpDimension, ...]:
    inputs = [_indexed_by(o, values) for o in op.operands if not o.is_output]
    outputs = [_indexed_by(o, values) for o in op.operands if o.is_output]
    written = set[int]().union(*outputs)
    reduces = any(d not in written for d in range(len(op.extents)))

    def role(dimension: int) -> DimensionRole:
        if dimension not in written:
            return "reduction"
        is_shared = len(inputs) > 1 and all(dimension in each for each in inputs)
        return "batch" if reduces and is_shared else "parallel"

    extents = (values.value(e) for e in op.extents)
    return tuple(OpDimension(dimension_letter(d), role(d), extent) for d, extent in enumerate(extents))


def _indexed_by(operand: TiledOperand, values: TermValues) -> set[int]:
    """Return the dimensions that an operand's indices depend on."""
    found: set[int] = set()
    for index in operand.map:
        linear = values.linear(index, "dimension")
        found.update(d for d, _ in linear[1]) if linear else None
    return found


def _labels(tilings: Tilings, op: StructuredOp, values: TermValues) -> list[str]:
    """Return the dimension that each variable of the loops around an op runs over, "" where it is not known."""
    letters = {dimension_letter(d) for d in range(len(op.extents))}
    return [label if label[:1] in letters else "" for label in loop_labels(op, tilings.loops, values)]


def _at_the_end(trace: Trace, op_id: str | None) -> tuple[tuple[LoopPattern, ...], str, int]:
    """Return the loops around what is left of an op at the end, what that is, and how many are alike."""
    payload = FinalPayload.of(trace) if op_id is not None else None
    working = payload.working(payload.meant_by([op_id])) if payload is not None and op_id else []
    if payload is None or not working:
        return (), "", 1
    return payload.loops(working[0]), payload.name(working[0]), payload.alike(working[0])


def _named(around: Sequence[LoopPattern], labels: Sequence[str]) -> tuple[LoopAround, ...]:
    """Return loops with the dimensions of their variables, where both are as many."""
    count = sum(len(loop.sizes or ()) for loop in around)
    left = list(labels) if len(labels) == count else [""] * count
    found = []
    for loop in around:
        steps = tuple(s if isinstance(s, int) else None for s in loop.sizes or ())
        found.append(LoopAround(loop.kind, tuple(left[: len(steps)]), steps))
        left = left[len(steps) :]
    return tuple(found)
