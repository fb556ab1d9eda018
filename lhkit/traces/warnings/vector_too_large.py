"""A vector with more elements than LLVM compiles in reasonable time."""

from __future__ import annotations

import math
import re

from lhkit.model.fatal_attributes import MOST_VECTOR_ELEMENTS
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.warnings.warning_kind import Messages, WarningKind

_VECTOR = re.compile(r"vector<((?:\[?\d+\]?x)+)")


def _find(history: PayloadHistory) -> Messages:
    """Yield the step that made the largest vector of the last payload, if the vector is too large."""
    trace = history.trace
    largest = _largest_vector(trace.last_snapshot_text())
    if largest is None or any(w.kind == "vector-too-large" for s in trace.step_records for w in s.warnings):
        return
    elements, written = largest
    for step in trace.steps_by_end():
        makes = any(trace.op(o).name.startswith("vector.") for o in step.payload_delta.created)
        if makes and written in (trace.snapshot_text(step.index) or ""):
            yield (
                step.index,
                f"the payload has {written.rstrip('x')}…>, a vector of {elements} elements, more than"
                f" {MOST_VECTOR_ELEMENTS}; LLVM may take minutes: tile before vectorizing",
            )
            return


def _largest_vector(text: str) -> tuple[int, str] | None:
    shapes = {m[0]: math.prod(map(int, re.findall(r"\d+", m[1]))) for m in _VECTOR.finditer(text)}
    return max(((n, shape) for shape, n in shapes.items() if n > MOST_VECTOR_ELEMENTS), default=None)


VECTOR_TOO_LARGE = WarningKind(
    "vector-too-large",
    "A vector has so many elements that LLVM may take minutes over it.",
    _find,
    needs_success=False,
)
