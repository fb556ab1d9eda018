"""What became of handles: their names for people, their states, their deaths in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lhkit.model.failure import Diagnostic, Failure
from lhkit.model.trace import HandleChange, Invalidation, Trace, TraceStep


@dataclass(frozen=True, slots=True)
class Death:
    """The step that a handle died of, and why."""

    step: int
    invalidation: Invalidation


def display_names(trace: Trace) -> dict[str, str]:
    """Return a name for every handle by id, as its author wrote it.

    Where several dynamic definitions have one name, each but the entry's arguments says which step made it.
    """
    counts = Counter(h.name for h in trace.handle_records)
    return {
        h.id: h.name if counts[h.name] == 1 or h.defined_by < 0 else f"{h.name} (step {h.defined_by})"
        for h in trace.handle_records
    }


def deaths(trace: Trace) -> dict[str, Death]:
    """Return the death of every handle that died, by id; the first, where a name died in several iterations."""
    found: dict[str, Death] = {}
    for step in trace.step_records:
        for each in step.invalidated:
            found.setdefault(each.handle, Death(step.index, each))
    return found


def states_at_end(trace: Trace) -> dict[str, HandleChange]:
    """Return what every handle was after the last step, by id, in the order of definition."""
    states = trace.states_after(len(trace.step_records) - 1)
    return {h.id: states[h.id] for h in trace.handle_records if h.id in states}


def death_in_words(trace: Trace, step: int, death: Invalidation, names: dict[str, str]) -> str:
    """Return why a handle died, as a sentence without its full stop.

    Args:
        trace: The trace.
        step: Index of the step that it died of.
        death: One entry of what that step invalidated.
        names: As `display_names` gives them.
    """
    name, by = names[death.handle], names[death.by]
    if death.cause == "direct" or death.payload_op is None or death.ancestor is None:
        return f"{name} died here: step {step} consumed it"
    op, ancestor = trace.op(death.payload_op).name, trace.op(death.ancestor).name
    if death.cause == "alias":
        return f"{name} died here: step {step} consumed {by}, and both point to the same {op}"
    return (
        f"{name} died here: step {step} consumed {by}, and the {op} that {name} points to"
        f" lies inside that {ancestor}"
    )


def failure_of(trace: Trace, texts: tuple[tuple[str, str], ...]) -> Failure | None:
    """Return how a trace failed, with the place of the step that did, or None if it went well.

    Where the compiler said nothing the operands of the step are named, and what they were before it.

    Args:
        trace: The trace.
        texts: The sources that its places refer to, each as (file name, text).
    """
    outcome = trace.outcome
    if outcome.kind is None:
        return None
    message = outcome.message or f"{trace.schedule.source} failed"
    diagnostics: tuple[Diagnostic, ...] = ()
    step = None
    if outcome.failed_step is not None:
        step = trace.step_records[outcome.failed_step]
        diagnostics = tuple(d for d in step.diagnostics if d.severity == "error")
        if diagnostics:
            message = message.partition("\n")[0]  # the lines after it show the same diagnostics
        else:
            diagnostics = (Diagnostic("error", _silent_step(trace, step), step.source),)
        message = f"step {step.index} ({step.op}): {message}"
    return Failure(
        kind=outcome.kind,  # type: ignore[arg-type]
        message=message,
        diagnostics=diagnostics,
        advice=_advice(trace, step),
        texts=texts,
    )


def _silent_step(trace: Trace, step: TraceStep) -> str:
    names = display_names(trace)
    before = trace.states_after(step.index - 1)
    said = [f"{o.effect}s {names[o.handle]} ({describe_state(before.get(o.handle))})" for o in step.operands]
    return f"nothing was said about this step; it {', '.join(said) or 'takes no handle'}"


def describe_state(change: HandleChange | None) -> str:
    """Return what a handle is in two words: ``2 ops``, ``empty``, ``invalid``."""
    if change is None:
        return "not defined"
    if change.state != "live":
        return change.state
    return f"live, {len(change.payload)} in payload"


def _advice(trace: Trace, step: TraceStep | None) -> str | None:
    """Return what to do about a use of a dead handle: which step killed it and how."""
    if step is None or trace.outcome.kind != "invalidated-handle":
        return None
    names = display_names(trace)
    dead = {h: d for h, d in deaths(trace).items() if d.step < step.index}
    for operand in step.operands:
        if operand.handle in dead:
            death = dead[operand.handle]
            words = death_in_words(trace, death.step, death.invalidation, names).replace(
                " died here:", " is dead:"
            )
            return f"{words}. Match again after step {death.step}, or move step {step.index} before it."
    return None
