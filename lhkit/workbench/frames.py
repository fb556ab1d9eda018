"""The payload after a step as a fragment: against the one before, or whole."""

from __future__ import annotations

from lhkit.draw.svg import element
from lhkit.model.trace_record import Trace
from lhkit.traces.diff.ir_html import ir_html, payload_html
from lhkit.traces.diff.op_diff import ir_at, ir_diff


def payload_frame(trace: Trace, step: int, *, whole: bool, most_lines: int = 600) -> str:
    """Return the payload after a step as HTML.

    Args:
        trace: The trace.
        step: Index of the step, -1 for the payload as given.
        whole: As text, instead of what the step did to it.
        most_lines: Lines to write of what it did, those in folds apart.

    Raises:
        UsageError: There is no such step.
    """
    if not trace.snapshots:
        return element("p", "There is no payload: nothing ran.", class_="lh-note")
    return payload_html(ir_at(trace, step)) if whole else ir_html(ir_diff(trace, step), most_lines=most_lines)
