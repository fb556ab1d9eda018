"""What became of handles: their names for people, their states, their deaths in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lhkit.model.trace_record import HandleChange, Invalidation, ParamReference, Trace, TraceStep

ALTERNATIVES = "transform.alternatives"


@dataclass(frozen=True, slots=True)
class Death:
    """The step that a handle died of, and why."""

    step: int
    invalidation: Invalidation


def display_names(trace: Trace) -> dict[str, str]:
    """Return a name for every handle by id, as its author wrote it.

    Where several dynamic definitions have one name, each but the entry's arguments says which step made it, and
    the arguments of blocks that one step enters several times say in which iteration or alternative.
    """
    counts = Counter(h.name for h in trace.handle_records)
    made = Counter((h.name, h.defined_by) for h in trace.handle_records)
    first = _first_mentions(trace) if any(n > 1 for n in made.values()) else {}
    names = {}
    for handle in trace.handle_records:
        said = ""
        if counts[handle.name] > 1 and handle.defined_by >= 0:
            turn = first.get(handle.id) if made[handle.name, handle.defined_by] > 1 else None
            said = f" (step {handle.defined_by}{'' if turn is None else turn_in_words(turn)})"
        names[handle.id] = handle.name + said
    return names


def turn_in_words(step: TraceStep) -> str:
    """Return in which iteration or alternative a step is, behind a comma; empty if in neither."""
    if step.iteration is not None:
        return f", iteration {step.iteration}"
    return "" if step.alternative is None else f", alternative {step.alternative}"


def _first_mentions(trace: Trace) -> dict[str, TraceStep]:
    """Return the first step that says what a handle is, by id: the first of a block for its arguments."""
    first: dict[str, TraceStep] = {}
    for step in trace.step_records:
        for change in step.changes:
            if change.handle not in first:
                first[change.handle] = step
    return first


def rolled_back(trace: Trace) -> dict[str, TraceStep]:
    """Return the handles of alternatives that failed, by id, with the step that each alternative failed at.

    The interpreter erases the copy that a failed alternative worked on; none of its handles can be used after.
    """
    steps = trace.step_records
    failed = {
        (s.parent, s.alternative): s
        for s in steps
        if s.status == "suppressed" and s.parent is not None and steps[s.parent].op == ALTERNATIVES
    }
    found: dict[str, TraceStep] = {}
    for handle, step in _first_mentions(trace).items() if failed else ():
        at: TraceStep | None = step
        inside = trace.handle(handle).path
        while at is not None and at.parent in inside:
            if (at.parent, at.alternative) in failed:
                found[handle] = failed[at.parent, at.alternative]
                break
            at = steps[at.parent]
    return found


def deaths(trace: Trace) -> dict[str, Death]:
    """Return the death of every handle that died, by id; the first, where a name died in several iterations."""
    found: dict[str, Death] = {}
    for step in trace.step_records:
        for each in step.invalidated:
            found.setdefault(each.handle, Death(step.index, each))
    return found


def states_at_end(trace: Trace) -> dict[str, HandleChange]:
    """Return what every handle was after the last step, by id, in the order of definition."""
    # Not what `Trace.states_after` says of the last step: that one may lie in a step that ended after it.
    states = {c.handle: c for step in trace.steps_by_end() for c in step.changes}
    return {h.id: states[h.id] for h in trace.handle_records if h.id in states}


def states_before(trace: Trace, step: int) -> dict[str, HandleChange]:
    """Return the last known state of every handle when a step began, by handle id.

    Not what `Trace.states_after` says of the step before: that one may lie in a step that ended after it.
    """
    states: dict[str, HandleChange] = {}
    for each in trace.steps_by_end():
        if each.index >= step:
            break
        states.update((c.handle, c) for c in each.changes)
    return states


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


def death_in_few_words(step: int, death: Invalidation, names: dict[str, str]) -> str:
    """Return the step that a handle died of and the cause, as short as it goes: ``5 alias of %loop``."""
    if death.cause == "direct":
        return f"{step} consumed"
    return f"{step} {'alias of' if death.cause == 'alias' else 'inside'} {names[death.by]}"


def payload_in_words(trace: Trace, change: HandleChange) -> str:
    """Return what a live handle points to, or what a parameter holds: ``2 scf.for``, ``16 : i64``."""
    held = [r.param for r in change.payload if isinstance(r, ParamReference)]
    if held:
        return ", ".join(held)
    counts = Counter(trace.op(r).name for r in change.payload if isinstance(r, str))
    return ", ".join(f"{n} {name}" for name, n in counts.items()) or f"{len(change.payload)} values"
