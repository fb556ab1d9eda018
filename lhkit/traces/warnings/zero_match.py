"""Near misses appended to the warning that a match found nothing."""

from __future__ import annotations

import dataclasses

from lhkit.model.span import Span
from lhkit.model.trace_record import TraceStep, TraceWarning
from lhkit.traces.explain.near_misses import near_misses
from lhkit.traces.record.handle_history import PayloadHistory

_MATCH = "transform.structured.match"


def with_near_misses(history: PayloadHistory) -> list[TraceStep]:
    """Return the steps of a trace; the first execution of a match that found nothing says why."""
    searched: set[Span | None] = set()
    steps = list(history.trace.step_records)
    for index, step in enumerate(steps):
        is_empty = step.op == _MATCH and any(w.kind == "zero-match" for w in step.warnings)
        if is_empty and step.source not in searched:
            searched.add(step.source)
            if (why := near_misses(history, step)) is not None:
                warnings = tuple(
                    TraceWarning(w.kind, f"{w.message}: {why}") if w.kind == "zero-match" else w
                    for w in step.warnings
                )
                steps[index] = dataclasses.replace(step, warnings=warnings)
    return steps
