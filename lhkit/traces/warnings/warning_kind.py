"""A kind of warning: its name, its description, and the function that finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.handle_history import PayloadHistory

VECTORIZE = "transform.structured.vectorize"
VECTORIZE_CHILDREN = "transform.structured.vectorize_children_and_apply_patterns"

# The index of a step and the message of a warning about it.
Messages = Iterator[tuple[int, str]]


class WarningKind(NamedTuple):
    """A kind of warning; ``needs_success``: later steps might have corrected it, so the schedule must pass."""

    name: str
    description: str
    find: Callable[[PayloadHistory], Messages]
    needs_success: bool = True


def vectorizing_steps(trace: Trace) -> list[TraceStep]:
    """Return the steps that vectorized."""
    return [s for s in trace.step_records if s.op in (VECTORIZE, VECTORIZE_CHILDREN) and s.status == "ok"]
