"""A handle that lists a payload op twice."""

from __future__ import annotations

from lhkit.traces.explain.handle_explanation import repeated
from lhkit.traces.record.handle_history import PayloadHistory, display_names
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.warnings.warning_kind import Messages, WarningKind


def _find(history: PayloadHistory) -> Messages:
    trace = history.trace
    names = display_names(trace)
    reported: set[str] = set()
    for step in trace.steps_by_end():
        for change in step.changes:
            if change.handle in reported or not (again := repeated(change)):
                continue
            reported.add(change.handle)
            what = op_in_words(trace, again[0]) if isinstance(again[0], str) else "a value"
            yield (
                step.index,
                f"{names[change.handle]} lists one op twice ({what}); a step that consumes it will fail,"
                " transform.merge_handles deduplicate takes the repetition out",
            )


REPEATED_PAYLOAD = WarningKind(
    "repeated-payload",
    "A handle lists one op twice; a step that consumes it will fail.",
    _find,
    needs_success=False,
)
