"""Where the ops of a payload are written: the places of the source ops that they come from."""

from __future__ import annotations

from lhkit.model.span import Span
from lhkit.model.trace import Trace


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
