"""Panes of the frame: top bar, trace, view state, notice and trust banner."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from lhkit.draw.viewer import view_content
from lhkit.model.printable import counted
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import trace_view
from lhkit.traces.warnings.lost_work import suppressed_failures
from lhkit.workbench.workbench_core import PACK_FROM, LivePane, WorkbenchCore, same_trace
from lhkit.workbench.workbench_exports import EXPORTS
from lhkit.worker.cancellation import was_stopped

_WORDS = {
    "ok": "applies",
    "failed": "fails",
    "crashed": "crashes the compiler",
    "timeout": "takes too long",
    "out-of-memory": "takes too much memory",
    "cancelled": "was stopped",
}


def _head(workbench: WorkbenchCore) -> dict[str, Any]:
    session, trace = workbench.session, workbench.trace
    history = session.history
    outcome = trace.outcome if trace else None
    return {
        "payload": PurePath(session.payload.source).name,
        "schedule": PurePath(session.schedule.source).name,
        "undo": history.current.title if history.can_undo else None,
        "redo": history.redone().current.title if history.can_redo else None,
        "checkpoints": list(session.checkpoints),
        "status": outcome.status if outcome else "failed" if session.is_trusted else "untrusted",
        "outcome": _outcome_words(workbench),
        "stale": _stale_words(workbench),
        "version": workbench.version_id,
        "knobs": session.schedule.values,
        "empty": workbench.is_empty,
        "part": workbench.model.opened,
        "exports": [[kind, export.title] for kind, export in EXPORTS.items()],
    }


def _outcome_words(workbench: WorkbenchCore) -> str:
    trace = workbench.trace
    if trace is None and not workbench.session.is_trusted:
        return "not trusted: nothing is traced yet"
    if trace is None:
        return "cannot be traced"
    outcome = trace.outcome
    if outcome.failed_step is not None:
        return f"{_WORDS[outcome.status]} at step {outcome.failed_step}"
    ran = sum(s.status != "not-run" for s in trace.step_records)
    failures = len(suppressed_failures(trace))
    also = f", {counted(failures, 'failure')} suppressed" if failures else ""
    return f"{_WORDS[outcome.status]} in {counted(ran, 'step')}{also}"


def _stale_words(workbench: WorkbenchCore) -> str:
    session = workbench.session
    if not session.is_stale or not session.is_trusted:
        return ""
    if was_stopped(session.failure):
        return "stopped: shown is the last good trace"
    if workbench.trace is None:
        return "nothing is traced yet: the text is not a schedule"
    if session.version.is_draft:
        return "the text does not parse: shown is the last that did"
    return "shown is an earlier version" if session.failure is None else "it cannot be traced"


def _trace(workbench: WorkbenchCore) -> dict[str, Any]:
    trace = workbench.trace
    if trace is None:
        return {"key": "", "start": -1, "steps": [], "panes": [], "lookup": "{}"}
    return trace_part(trace)


def trace_part(trace: Trace) -> dict[str, Any]:
    """Return the steps of a trace, and what its handles point to, as panes look it up."""
    return view_content(trace_view(trace, ()), least=PACK_FROM)


def _trust(workbench: WorkbenchCore) -> dict[str, Any] | None:
    """Return the banner of a workbench that is not trusted; None if it is."""
    if workbench.session.is_trusted:
        return None
    message = (
        "You have not saved or trusted it on this machine, so nothing of it was applied or run. You see its "
        "text, with what the check finds; you can edit it, and knobs and forms change the text only. Trusting "
        "it applies the schedule to the payload in the compiler; Run, Measure and Sweep then execute its "
        "native code with your rights. Trust it only if you know where it comes from."
    )
    if workbench.reference is not None:
        message += f" It also names Python code, which runs when numbers are checked: {workbench.reference}."
    names = " and ".join(doubt.name for doubt in workbench.session.doubts)
    return {"title": f"Not trusted yet: {names}", "message": message}


PANES = (
    LivePane("head", _head),
    LivePane("trace", _trace, same_trace, is_cached=True),
    LivePane("screen", lambda w: w.screen.to_json()),
    LivePane("notice", lambda w: w.notice.to_json() if w.notice else None),
    LivePane("trust", _trust),
)
