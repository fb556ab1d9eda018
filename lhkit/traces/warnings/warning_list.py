"""The kinds of warnings in their order; adding them to a trace, and switching them off.

Warnings are switched off by argument (``no_warnings=["zero-match"]``), by option (``--no-warning zero-match``),
or in the text of the schedule: a comment ``// lhkit: allow zero-match`` on the line of an op's name or on the
line before it holds for that op, above the first line of code for the whole file. Commas separate kinds.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from lhkit.model.errors import usage_error
from lhkit.model.fatal_attributes import INTERPRETER_WARNINGS
from lhkit.model.trace_record import Trace, TraceWarning
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.warnings import knob_without_effect
from lhkit.traces.warnings.lost_contraction import LOST_CONTRACTION
from lhkit.traces.warnings.repeated_payload import REPEATED_PAYLOAD
from lhkit.traces.warnings.scalar_code_left import SCALAR_CODE_LEFT
from lhkit.traces.warnings.unused_handle import UNUSED_HANDLE
from lhkit.traces.warnings.vector_too_large import VECTOR_TOO_LARGE
from lhkit.traces.warnings.warning_kind import WarningKind
from lhkit.traces.warnings.zero_match import with_near_misses

# Warnings of a step are in this order.
_KINDS: tuple[WarningKind, ...] = (
    REPEATED_PAYLOAD,
    VECTOR_TOO_LARGE,
    UNUSED_HANDLE,
    LOST_CONTRACTION,
    SCALAR_CODE_LEFT,
)
WARNING_KINDS: Mapping[str, str] = {
    **INTERPRETER_WARNINGS,
    **{kind.name: kind.description for kind in _KINDS},
    knob_without_effect.KIND: knob_without_effect.DESCRIPTION,
}


def check_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """Return the kinds as a set; UsageError if one of them does not exist."""
    chosen = frozenset(kinds)
    if unknown := sorted(chosen - WARNING_KINDS.keys()):
        raise usage_error(f"no warning is called {unknown[0]!r}", f"There are {', '.join(WARNING_KINDS)}.")
    return chosen


def with_warnings(trace: Trace) -> Trace:
    """Return a trace with the warnings that need the whole trace."""
    history = PayloadHistory(trace)
    found: dict[int, dict[TraceWarning, None]] = defaultdict(dict)
    kinds = [k for k in _KINDS if trace.outcome.status == "ok" or not k.needs_success]
    for kind in kinds:
        for index, message in kind.find(history):
            found[index][TraceWarning(kind.name, message)] = None
    steps = with_near_misses(history)
    for index, warnings in found.items():
        steps[index] = dataclasses.replace(steps[index], warnings=(*steps[index].warnings, *warnings))
    return dataclasses.replace(trace, step_records=tuple(steps))


def without_warnings(trace: Trace, kinds: Collection[str] = ()) -> Trace:
    """Return a trace without warnings of some kinds, and without those that comments in its schedule allow."""
    texts, steps = PayloadHistory(trace).texts, list(trace.step_records)
    for index, step in enumerate(steps):
        text = texts.get(step.source.file) if step.source and step.warnings else None
        allowed = {*kinds, *(text.allowed(step.source.line) if text and step.source else ())}
        if any(w.kind in allowed for w in step.warnings):
            kept = tuple(w for w in step.warnings if w.kind not in allowed)
            steps[index] = dataclasses.replace(step, warnings=kept)
    return dataclasses.replace(trace, step_records=tuple(steps))
