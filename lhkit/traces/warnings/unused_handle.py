"""A step that only finds payload ops and whose results are never used."""

from __future__ import annotations

from lhkit.model.span import Span
from lhkit.model.trace_record import PayloadDelta, Trace, TraceStep
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.warnings.warning_kind import Messages, WarningKind


def _find(history: PayloadHistory) -> Messages:
    trace = history.trace
    used = {o.handle for s in trace.step_records for o in s.operands}
    reported: set[Span] = set()
    for step in trace.step_records:
        if step.source is None or step.source in reported or not _only_finds(trace, step):
            continue
        text = history.texts.get(step.source.file)
        names = [trace.handle(r).name for r in step.results]
        if text is None or used.intersection(step.results) or any(text.mentions(n) != 1 for n in names):
            continue
        reported.add(step.source)
        yield step.index, f"nothing uses {', '.join(names)}"


def _only_finds(trace: Trace, step: TraceStep) -> bool:
    is_plain = not any(o.effect == "consume" for o in step.operands) and step.payload_delta == PayloadDelta()
    kinds = {trace.handle(r).kind for r in step.results}
    return step.status == "ok" and is_plain and bool(kinds) and "param" not in kinds


UNUSED_HANDLE = WarningKind(
    "unused-handle", "A step only finds something, and nothing uses what it found.", _find
)
