"""The part ``payload``: the frame of the step that is shown when a trace is new; others are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lhkit.draw.svg import element
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import trace_key
from lhkit.traces.diff.ir_html import ir_html, payload_html
from lhkit.traces.diff.op_diff import ir_at, ir_diff
from lhkit.workbench.pane import Part, same_trace, sent

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


# The payload after a step as a fragment: against the one before, or whole.


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


def _make(workbench: Workbench) -> dict[str, Any]:
    trace, screen = workbench.trace, workbench.screen
    if trace is None:
        whole = screen.whole_payload
        # What is not trusted is shown as it was given; a text that is no schedule has nothing to be applied to.
        html = "" if workbench.session.is_trusted else sent(payload_html(workbench.session.payload.text))
        return {"key": "", "step": -1, "whole": whole, "html": html}
    html = payload_frame(trace, screen.step, whole=screen.whole_payload)
    return {"key": trace_key(trace), "step": screen.step, "whole": screen.whole_payload, "html": sent(html)}


PARTS = (Part("payload", lambda w: (same_trace(w), w.session.is_trusted), _make),)
