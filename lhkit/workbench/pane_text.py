"""The part ``text``: the schedule's text, what is wrong in it, and which line is which step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lhkit.model.trace_record import Trace
from lhkit.text.script import SEQUENCE, Script
from lhkit.traces.record.trace_failure import failure_of
from lhkit.workbench.pane import Part, same_trace
from lhkit.workbench.text_marks import TextMark, check_marks, merged, parser_marks, refused_marks, trace_marks
from lhkit.worker.cancellation import was_stopped

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


def _make(workbench: Workbench) -> dict[str, Any] | None:
    if not workbench.screen.is_open("text"):
        return None
    session = workbench.session
    is_typed = workbench.typed.version == workbench.version_id
    followed = session.followed
    trace = workbench.trace
    is_traced = trace is not None and not session.is_stale
    return {
        "text": session.text,
        "version": workbench.version_id,
        "by": workbench.typed.by if is_typed else "",
        "marks": [mark.to_json() for mark in _marks(workbench, trace if is_traced else None)],
        "lines": lines_of_steps(workbench.script, trace) if is_traced and trace is not None else [],
        "file": followed.path.name if followed else None,
        "unsaved": followed is None or followed.taken != session.text,
    }


def _marks(workbench: Workbench, trace: Trace | None) -> tuple[TextMark, ...]:
    session = workbench.session
    file = session.schedule.source
    if was_stopped(session.failure):  # nothing is wrong with the text
        return ()
    if session.failure is not None:
        return parser_marks(session.text, file, session.failure)
    traced = trace_marks(session.text, trace, failure_of(trace)) if trace is not None else ()
    checks = workbench.checks
    refused = refused_marks(session.text, file, checks.refused)
    return merged(traced, refused, check_marks(session.text, file, checks.found, checks.fatal))


def lines_of_steps(script: Script, trace: Trace) -> list[list[int]]:
    """Return the first and last line of every step of a text and the first step of the trace that ran it."""
    first: dict[tuple[int, int], int] = {}
    for step in trace.step_records:
        if step.source is not None and step.source.file == trace.schedule.source:
            first.setdefault((step.source.line, step.source.column), step.index)
    found = []
    for op in script.steps:
        place = script.syntax.place(op.name_start)
        step_index = first.get((place.line, place.column))
        if op.name != SEQUENCE and step_index is not None:
            found.append([script.line_of(op), script.syntax.place(op.end - 1).line, step_index])
    return found


def _key(workbench: Workbench) -> Any:
    session = workbench.session
    followed = session.followed
    return (
        workbench.screen.is_open("text"),
        same_trace(workbench),
        session.text,
        session.failure,
        session.is_stale,
        workbench.checks.found,
        workbench.checks.refused,
        workbench.checks.fatal,
        workbench.typed.by,
        (followed.path, followed.taken) if followed else None,
    )


PARTS = (Part("text", _key, _make),)
