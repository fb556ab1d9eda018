"""Which candidates there are for a trace: by what went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.repairs.candidate import Candidate, distinct
from lhkit.repairs.dead_handles import candidates_for_dead
from lhkit.repairs.empty_handles import candidates_for_zero_match, origin_of_emptiness
from lhkit.repairs.kinds import candidates_for_kinds
from lhkit.repairs.order import candidates_for_order
from lhkit.repairs.repair_context import Situation, op_at
from lhkit.repairs.repetition import candidates_for_repetition
from lhkit.repairs.wrong_arguments import candidates_for_counts
from lhkit.text.script import Script
from lhkit.traces.explain.handle_explanation import repeated
from lhkit.traces.record.handle_history import deaths


def situations(trace: Trace, script: Script) -> Iterator[Situation]:
    """Yield what is to be repaired: the step that failed, with the empty match that it is due to before it.

    In a trace that went well, these are the steps that look for payload ops and find none.
    """
    failed = trace.outcome.failed_step
    steps: list[TraceStep] = []
    if failed is not None and trace.outcome.status == "failed":
        steps = [*origin_of_emptiness(trace, trace.step_records[failed]), trace.step_records[failed]]
    elif trace.outcome.status == "ok":
        steps = [s for s in trace.step_records if any(w.kind == "zero-match" for w in s.warnings)]
    for step in steps:
        op = op_at(script, step)
        if op is not None:
            yield Situation(trace, script, step, op)


def candidates_for(situation: Situation) -> list[Candidate]:
    """Return the candidates for a step, in the order in which they should be tried."""
    return distinct(_candidates(situation))


def _candidates(situation: Situation) -> Iterator[Candidate]:
    trace, step = situation.trace, situation.step
    if any(w.kind == "zero-match" for w in step.warnings):
        yield from candidates_for_zero_match(situation)
        return
    dead = {h: d for h, d in deaths(trace).items() if d.step < step.index}
    for position, operand in enumerate(o.handle for o in step.operands):
        change = situation.before.get(operand)
        if operand in dead:
            yield from candidates_for_dead(situation, position, dead[operand].step)
        elif change is not None and change.state == "empty" and situation.last_live(operand):
            yield from candidates_for_dead(situation, position, _emptied_in(situation, operand))
        elif repeated(change) and trace.outcome.kind == "repeated-payload":
            yield from candidates_for_repetition(situation, operand)
    if trace.outcome.kind not in ("invalidated-handle", "repeated-payload"):
        yield from candidates_for_counts(situation)
        yield from candidates_for_kinds(situation)
        yield from candidates_for_order(situation)


def _emptied_in(situation: Situation, handle: str) -> int | None:
    """Return the step that erased what a handle pointed to."""
    found = None
    for step in situation.trace.steps_by_end():
        if step.index >= situation.step.index:
            break
        for change in step.changes:
            if change.handle == handle:
                found = step.index if change.state == "empty" else None
    return found
