"""Where the ops of a payload are written: the places of the source ops that they come from."""

from __future__ import annotations

from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadOp, Trace


def source_places(trace: Trace) -> list[Span | None]:
    """Return for every payload op, in the order of the records, where its source op is written.

    The source op of one that was made from others is that of the first of them; None where the chain ends at an
    op that is written nowhere.
    """
    places: dict[str, Span | None] = {}
    for op in trace.op_records:
        place = op.source
        if place is None and op.derived_from:
            place = places.get(op.derived_from[0])
        places[op.id] = place
    return list(places.values())


def source_place(trace: Trace, op: PayloadOp) -> Span | None:
    """Return for one payload op where its source op is written, as `source_places` does for all."""
    while op.source is None and op.derived_from:
        op = trace.op(op.derived_from[0])
    return op.source


def op_in_words(trace: Trace, op_id: str) -> str:
    """Return an op's name, with the place of its source where that is known."""
    op = trace.op(op_id)
    place = source_place(trace, op)
    return f"{op.name} of {place}" if place else op.name
