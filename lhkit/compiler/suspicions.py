"""What is legal in a schedule and seldom meant: matches of nothing, steps that do nothing."""

from __future__ import annotations

from lhkit.compiler.frames import Running
from lhkit.model.trace import PayloadDelta, TraceWarning


def suspicions(running: Running, delta: PayloadDelta) -> list[TraceWarning]:
    """Return the warnings about a step that succeeded.

    Args:
        running: The step.
        delta: What it did to the payload.
    """
    if running.acts_on_nothing:
        names = (h.planned.name for h, _ in running.uses if h.planned.kind != "param")
        listed = ", ".join(dict.fromkeys(names))
        return [TraceWarning("no-effect", f"does nothing: {listed} is empty")]
    consumes = any(c for _, c in running.uses)
    found = [h for h in running.results if h.planned.kind != "param"]
    if not consumes and found and not any(h.payload for h in found) and not running.op.blocks:
        listed = ", ".join(h.planned.name for h in found)
        return [
            TraceWarning("zero-match", f"finds nothing: {listed} is empty, and what uses it will do nothing")
        ]
    if consumes and delta == PayloadDelta() and not running.entered:
        return [TraceWarning("no-effect", "leaves the payload as it was")]
    return []
