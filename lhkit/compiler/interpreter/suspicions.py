"""What is legal in a schedule and seldom meant: matches of nothing, steps that do nothing."""

from __future__ import annotations

from lhkit.compiler.interpreter.handle_frames import Running
from lhkit.model.trace_record import PayloadDelta, TraceWarning


def suspicions(running: Running, delta: PayloadDelta) -> list[TraceWarning]:
    """Return the warnings about a step that succeeded.

    Args:
        running: The step.
        delta: What it did to the payload.
    """
    if running.acts_on_nothing:
        names = [h.planned.name for h, _ in running.uses if h.planned.kind != "param"]
        return [TraceWarning("no-effect", f"does nothing: {_are_empty(names)}")]
    consumes = any(c for _, c in running.uses)
    found = [h for h in running.results if h.planned.kind != "param"]
    if not consumes and found and not any(h.payload for h in found) and not running.op.blocks:
        empty = _are_empty([h.planned.name for h in found])
        it = "it" if len(found) == 1 else "them"
        return [TraceWarning("zero-match", f"finds nothing: {empty}, and what uses {it} will do nothing")]
    if consumes and delta == PayloadDelta() and not running.entered:
        return [TraceWarning("no-effect", "leaves the payload as it was")]
    return []


def _are_empty(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return f"{', '.join(distinct)} {'is' if len(distinct) == 1 else 'are'} empty"


def defect(refused: bool) -> TraceWarning:
    """Return the warning that the interpreter and the rule for handles disagree on a step.

    Args:
        refused: Whether the interpreter refused it.
    """
    said = "refuses" if refused else "accepts"
    ours = "accepts" if refused else "refuses"
    message = f"the interpreter {said} this use of handles, which the rule for handles {ours}"
    return TraceWarning("defect", message + "; the interpreter is right, please report this")
