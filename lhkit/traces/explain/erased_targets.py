"""Why a foreach cannot go on: an earlier iteration erased the payload op that comes next."""

from __future__ import annotations

from lhkit.model.explanation import Explanation
from lhkit.model.failure import Diagnostic
from lhkit.model.trace_record import HandleRecord, Trace, TraceStep
from lhkit.traces.record.handle_history import display_names, states_before
from lhkit.traces.record.payload_places import op_in_words, source_place

FOREACH = "transform.foreach"


def explain_erased_target(trace: Trace) -> Explanation | None:
    """Return which step erased the op that a failed or crashed step was to use; None where none did.

    It names the foreach, the iteration, the payload op, and the step that erased it, with places.
    """
    at = trace.outcome.failed_step
    if at is None:
        return None
    step = trace.step_records[at]
    for operand in step.operands:
        record = trace.handle(operand.handle)
        found = _target_of(trace, record, step)
        if found is None:
            continue
        loop, iteration, target = found
        eraser = next((s for s in trace.steps_by_end() if target in s.payload_delta.erased), None)
        if eraser is None or not eraser.index < step.index:
            continue
        return _explanation(trace, step, record, loop, iteration, target, eraser)
    return None


def _target_of(trace: Trace, record: HandleRecord, step: TraceStep) -> tuple[TraceStep, int, str] | None:
    """Return the foreach that a handle is an argument of, the iteration, and the payload op that it is for."""
    loop = trace.step_records[record.defined_by] if record.defined_by >= 0 else None
    if loop is None or loop.op != FOREACH or record.kind != "op":
        return None
    iteration = _iteration(trace, step, loop)
    arguments = [h for h in trace.handle_records if h.defined_by == loop.index]
    if iteration is None or not loop.operands:
        return None
    operand = loop.operands[arguments.index(record) % len(loop.operands)]
    before = states_before(trace, loop.index).get(operand.handle)
    if before is None or iteration >= len(before.payload):
        return None
    target = before.payload[iteration]
    return (loop, iteration, target) if isinstance(target, str) else None


def _iteration(trace: Trace, step: TraceStep, loop: TraceStep) -> int | None:
    while step.parent is not None and step.parent != loop.index:
        step = trace.step_records[step.parent]
    return step.iteration if step.parent == loop.index else None


def _explanation(
    trace: Trace,
    step: TraceStep,
    record: HandleRecord,
    loop: TraceStep,
    iteration: int,
    target: str,
    eraser: TraceStep,
) -> Explanation:
    names, name = display_names(trace), record.name
    op = trace.op(target)
    over = names[loop.operands[0].handle]
    sentence = (
        f"foreach goes on with payload ops that step {eraser.index} ({eraser.op}) erased: in iteration"
        f" {iteration} over {over}, {name} is the {op_in_words(trace, target)}, and that is gone, so that the"
        " interpreter would read freed memory."
    )
    places = [
        Diagnostic("note", f"step {eraser.index} ({eraser.op}) erases the {op.name} here", eraser.source),
        Diagnostic("note", f"step {loop.index} (transform.foreach) goes on with it here", loop.source),
        Diagnostic("error", f"step {step.index} ({step.op}) uses {name} here", step.source),
    ]
    if (place := source_place(trace, op)) is not None:
        places.insert(0, Diagnostic("note", f"the {op.name} that was erased", place))
    return Explanation(sentence, tuple(places), record.id, eraser.index, trace.texts)
