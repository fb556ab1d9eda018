"""The failure of a trace, with cause and places."""

from __future__ import annotations

from lhkit.model.errors import Diagnostic, Failure
from lhkit.model.trace_record import HandleChange, Trace, TraceStep
from lhkit.traces.explain.failure_causes import explain_erased_target
from lhkit.traces.explain.handle_explanation import explain_failure
from lhkit.traces.record.handle_history import display_names, enclosing_steps, states_before

_INCLUDE = "transform.include"
_NO_REASON = "; the step that failed gave no reason"
_TESTS = ("transform.match.param.", "transform.match.operation_")


def failure_of(trace: Trace) -> Failure | None:
    """Return the failure of a trace, or None.

    If a handle is at fault, the message is the cause, with the places of definition, consumption and use. If
    the compiler gave no reason, the operands of the step and their states are named.
    """
    outcome = trace.outcome
    if outcome.kind is None:
        return None
    message = outcome.message or f"{trace.schedule.source} failed"
    diagnostics: tuple[Diagnostic, ...] = ()
    advice = None
    if outcome.failed_step is not None:
        step = trace.step_records[outcome.failed_step]
        cause = explain_failure(trace)
        if cause.handle is not None:
            message, diagnostics = cause.sentence.removesuffix("."), _used_first(cause.places)
            advice = _advice(trace, step, cause.handle, cause.step)
        else:
            message = message.partition("\n")[0]  # the lines after it show the same diagnostics
            diagnostics = (
                *_remarks_before(trace, step),
                *(d for d in step.diagnostics if d.severity == "error"),
            ) or (Diagnostic("error", _silent_step(trace, step), step.source),)
            message = message.removesuffix(_NO_REASON)
        diagnostics = _users_first(trace, step, diagnostics)
        message = f"step {step.index} ({step.op}): {message}"
    return Failure(
        kind=outcome.kind,  # type: ignore[arg-type]
        message=message,
        diagnostics=diagnostics,
        advice=advice,
        texts=trace.texts,
    )


def _remarks_before(trace: Trace, step: TraceStep) -> tuple[Diagnostic, ...]:
    """Return remarks of earlier steps in the sequence of a failed parameter test: why it fails."""
    if not step.op.startswith(_TESTS):
        return ()
    # Those of sequences that it includes count too.
    before = trace.step_records[step.parent or 0 : step.index]
    remarks = [d for s in before if s.status == "ok" for d in s.diagnostics if d.severity == "remark"]
    return tuple(Diagnostic("error", d.message, d.span, d.notes) for d in dict.fromkeys(remarks))


def _users_first(trace: Trace, step: TraceStep, found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return diagnostics of a step in a library, the first placed where the user's file enters the library."""
    own = (trace.payload.source, trace.schedule.source)
    first = found[0] if found else None
    if first is None or step.source is None or step.source.file in own:
        return found
    around = enclosing_steps(trace, step)
    entered = next((s for s in around if s.source is not None and s.source.file in own), None)
    if entered is None or entered.source is None:
        return found
    same = [d for d in found if (d.severity, d.message) == (first.severity, first.message)]
    about = [
        Diagnostic("note", "the payload op that this is about", d.span)
        for d in same
        if d.span is not None and d.span.file == trace.payload.source
    ]
    said = [note for d in same for note in d.notes]
    inner = [s for s in around if s.index > entered.index and s.op == _INCLUDE]
    chain = [Diagnostic("note", f"step {s.index} ({s.op}) includes it here", s.source) for s in inner]
    at = step.source if about else first.span or step.source
    here = Diagnostic("note", f"step {step.index} ({step.op}) fails here", at)
    notes = (*about, *said, here, *chain)
    others = tuple(d for d in found if d not in same)
    return (Diagnostic(first.severity, first.message, entered.source, notes), *others)


def _used_first(places: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return the places as one error at the use, with the others as notes."""
    errors = [p for p in places if p.severity == "error"]
    notes = tuple(p for p in places if p.severity != "error")
    if not errors:
        return notes
    return (Diagnostic("error", errors[0].message, errors[0].span, notes),)


def _silent_step(trace: Trace, step: TraceStep) -> str:
    names = display_names(trace)
    before = states_before(trace, step.index)
    said = [f"{o.effect}s {names[o.handle]} ({describe_state(before.get(o.handle))})" for o in step.operands]
    return f"the compiler gave no reason; the step {', '.join(said) or 'takes no handle'}"


def describe_state(change: HandleChange | None) -> str:
    """Return what a handle is in two words: ``2 ops``, ``empty``, ``invalid``."""
    if change is None:
        return "not defined"
    if change.state != "live":
        return change.state
    return f"live, {len(change.payload)} in payload"


def _advice(trace: Trace, step: TraceStep, handle: str, since: int | None) -> str | None:
    name = display_names(trace)[handle]
    if since is not None and explain_erased_target(trace) is not None:
        return (
            f"Keep step {since} from erasing later payload ops of the foreach's target: give it other ops, or"
            " match those that are left again and go on with them after the loop."
        )
    if trace.outcome.kind == "silenceable":
        if since is None:
            return f"Fuse {name} into the loop around one of its users."
        return f"Fuse before step {since}, or keep step {since} from the ops that are to be fused."
    if trace.outcome.kind == "repeated-payload":
        return (
            f"Remove the repetition before step {step.index}: transform.merge_handles deduplicate {name},"
            " or match again."
        )
    if since is None or since == step.index:
        return f"Give step {step.index} handles to different ops that do not lie inside one another."
    return f"Match again after step {since}, or move step {step.index} before it."
