"""The part ``payload``: the frame of the step that is shown when a trace is new; others are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lhkit.render.trace_view import trace_key
from lhkit.workbench.frames import payload_frame
from lhkit.workbench.part import Part, same_trace, sent

if TYPE_CHECKING:
    from lhkit.workbench.workbench import Workbench


def _make(workbench: Workbench) -> dict[str, Any]:
    trace, screen = workbench.trace, workbench.screen
    if trace is None:
        return {"key": "", "step": -1, "whole": False, "html": ""}
    html = payload_frame(trace, screen.step, whole=screen.whole_payload)
    return {"key": trace_key(trace), "step": screen.step, "whole": screen.whole_payload, "html": sent(html)}


PARTS = (Part("payload", same_trace, _make),)
