"""The part ``payload``: the frame of the step that is shown when a trace is new; others are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lhkit.show.trace_view import trace_key
from lhkit.traces.diff.ir_html import payload_html
from lhkit.workbench.frames import payload_frame
from lhkit.workbench.pane import Part, same_trace, sent

if TYPE_CHECKING:
    from lhkit.workbench.controller import Workbench


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
