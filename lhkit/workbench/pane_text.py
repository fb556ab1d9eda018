"""The pane ``text``: the schedule with its diagnostics, and the steps of its lines."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lhkit.model.errors import Diagnostic, Failure
from lhkit.model.span import Span
from lhkit.model.trace_record import Trace
from lhkit.text.script import SEQUENCE, Script
from lhkit.traces.explain.handle_explanation import failure_of
from lhkit.workbench.form_fields import steps_by_place
from lhkit.workbench.jobs import StaticChecks
from lhkit.workbench.workbench_core import LivePane, WorkbenchCore, same_trace
from lhkit.worker.cancellation import was_stopped

_WORD = re.compile(r'"[^"\n]*"?|[%@!#^]?[\w$.-]+|\S', re.ASCII)
_RANKS = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class TextMark:
    """A diagnostic; ``start`` and ``end`` (exclusive) are columns from 0 in UTF-16 units, as browsers count."""

    line: int
    start: int
    end: int
    severity: str
    message: str
    source: str


def parser_marks(text: str, file: str, failure: Failure) -> tuple[TextMark, ...]:
    """Return the marks of a text that does not parse; in its first line if there is no location."""
    marks = tuple(_said(text, file, failure.diagnostics, "parser"))
    return marks or (_mark(text, Span(file, 1, 1), "error", failure.message, "parser"),)


def trace_marks(text: str, trace: Trace, failure: Failure | None) -> tuple[TextMark, ...]:
    """Return the marks of a trace: the failed step, warnings and notes."""
    file = trace.schedule.source
    marks: list[TextMark] = []
    if failure is not None:
        said = list(_said(text, file, failure.diagnostics, "trace"))
        at = next((i for i, m in enumerate(said) if m.severity == "error"), None)
        if at is not None:  # the message of the failure is more specific
            said[at] = dataclasses.replace(said[at], message=failure.message)
        failed = trace.outcome.failed_step
        place = trace.step_records[failed].source if failed is not None else None
        if at is None and place is not None and place.file == file:
            said.append(_mark(text, place, "error", failure.message, "trace"))
        marks += said
    for step in trace.step_records:
        if step.source is not None and step.source.file == file:
            marks += (_mark(text, step.source, "warning", w.message, "trace") for w in step.warnings)
            notes = [d for d in step.diagnostics if d.severity == "note"]  # which alternative was taken
            marks += (_mark(text, step.source, "info", d.message, "trace") for d in notes)
    return tuple(dict.fromkeys(marks))


def check_marks(text: str, file: str, checks: StaticChecks) -> tuple[TextMark, ...]:
    """Return the marks of a static check: refused passes, findings, and uses that would crash the compiler."""
    found = [(r.source, "error", r.reason) for r in checks.refused if r.source is not None]
    found += [(f.use.source, str(f.severity), f.message) for f in checks.found]
    found += [(f.use.source, "error", f.message) for f in checks.fatal]
    return tuple(_mark(text, at, severity, said, "check") for at, severity, said in found if at.file == file)


def merged(*groups: Iterable[TextMark]) -> tuple[TextMark, ...]:
    """Merge marks by place; on each line only the first source with an error keeps its errors."""
    kept: list[TextMark] = []
    errors: dict[int, str] = {}
    for mark in (mark for group in groups for mark in group):
        if mark.severity == "error" and errors.setdefault(mark.line, mark.source) != mark.source:
            continue
        kept.append(mark)
    return tuple(sorted(kept, key=lambda m: (m.line, m.start, _RANKS.index(m.severity))))


def _said(text: str, file: str, diagnostics: Iterable[Diagnostic], source: str) -> Iterator[TextMark]:
    for diagnostic in diagnostics:
        severity = diagnostic.severity if diagnostic.severity in ("error", "warning") else "info"
        if diagnostic.span is not None and diagnostic.span.file == file:
            yield _mark(text, diagnostic.span, severity, diagnostic.message, source)
        yield from _said(text, file, diagnostic.notes, source)


def _mark(text: str, place: Span, severity: str, message: str, source: str) -> TextMark:
    """Return a mark over the word at a place; at the end of a line over its last character."""
    lines = _lines_of(text)
    number = min(max(place.line, 1), len(lines))
    line = lines[number - 1]
    at = min(max(place.column - 1, 0), len(line))
    found = _WORD.match(line, at)
    start, end = found.span() if found else (max(len(line[:at].rstrip()) - 1, 0), at)
    return TextMark(number, _units(line[:start]), _units(line[:end]), severity, message, source)


@functools.lru_cache(maxsize=4)
def _lines_of(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", errors="replace")) // 2


def _make(workbench: WorkbenchCore) -> dict[str, Any] | None:
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
        "marks": [dataclasses.asdict(mark) for mark in _marks(workbench, trace if is_traced else None)],
        "lines": lines_of_steps(workbench.script, trace) if is_traced and trace is not None else [],
        "file": followed.path.name if followed else None,
        "unsaved": followed is None or followed.taken != session.text,
    }


def _marks(workbench: WorkbenchCore, trace: Trace | None) -> tuple[TextMark, ...]:
    session = workbench.session
    file = session.schedule.source
    if was_stopped(session.failure):  # nothing is wrong with the text
        return ()
    if session.failure is not None:
        return parser_marks(session.text, file, session.failure)
    traced = trace_marks(session.text, trace, failure_of(trace)) if trace is not None else ()
    return merged(traced, check_marks(session.text, file, workbench.checks))


def lines_of_steps(script: Script, trace: Trace) -> list[list[int]]:
    """Return [first line, last line, first trace step] of every step of the text that ran."""
    by_place, found = steps_by_place(trace), []
    for op in script.steps:
        place = script.syntax.place(op.name_start)
        ran = by_place.get((place.line, place.column))
        if op.name != SEQUENCE and ran:
            found.append([script.line_of(op), script.syntax.place(op.end - 1).line, ran[0].index])
    return found


def _key(workbench: WorkbenchCore) -> Any:
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


PANES = (LivePane("text", _make, _key),)
