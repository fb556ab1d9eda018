"""The page of a pipeline, pass by pass; texts stay compressed in it until they are looked at."""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

from lhkit.draw.svg import element, escaped, html_document
from lhkit.draw.tables import format_ns
from lhkit.draw.theme import static_text
from lhkit.draw.viewer import packed, script, view_style
from lhkit.model.codec import to_json
from lhkit.model.pass_trace import PassStep, PassTrace
from lhkit.pipelines.pass_views import LEFT, WIDTH, counts_svg, scale_of, step_diff, summary
from lhkit.traces.diff.ir_html import ir_html

# Diffs by identity are put in a page while there are few; the script makes others from the texts.
_MOST_DIFFS = 80


def passes_page(trace: PassTrace) -> str:
    """Return the page: no kernel, no network."""
    content = json.dumps(_content(trace), separators=(",", ":")).replace("<", "\\u003c")
    search = "filter; Enter searches the texts"
    side = (
        element("input", type="search", placeholder=search, aria_label=search),
        element("div", class_="note", role="status"),
        element("div", class_="list", role="listbox", tabindex=0, aria_label="passes"),
    )
    keys = element("small", "↑ ↓ walk · Shift+click compares two passes")
    body = element(
        "div",
        element("style", view_style() + static_text("passes.css", "pipelines")),
        element("h1", escaped(summary(trace)), keys),
        element("div", counts_svg(trace), class_="counts"),
        element("div", *side, class_="side"),
        element("div", element("div", escaped(_said(trace)), class_="lh-failure"), class_="pane"),
        class_="lh lh-passes timed" if any(s.time_ns for s in trace.steps) else "lh lh-passes",
    )
    parts = (
        body,
        element("script", content, type="application/json", id="lh-data"),
        element("script", page_script(), type="module"),
    )
    return html_document(trace.source, parts)


def page_script() -> str:
    """Return the script of the page, which a content security policy may allow by its hash."""
    return script("passes.js", room="pipelines")


def _said(trace: PassTrace) -> str:
    """Return why the pipeline did not end."""
    return trace.failure.describe() if trace.failure is not None else ""


def _content(trace: PassTrace) -> dict[str, Any]:
    effective = trace.effective_steps
    failed = [s.index for s in effective if s.status != "ok"]
    diffs = {}
    if trace.record is not None and len(effective) <= _MOST_DIFFS:
        ran = (s for s in effective if s.after is not None and s.before is not None)
        diffs = {
            s.index: packed(ir_html(dataclasses.replace(step_diff(trace, s.index), title=""))) for s in ran
        }
    return {
        "steps": [_step_content(trace, step) for step in trace.steps],
        "texts": [{"z": base64.b64encode(text).decode()} for text in trace.packed],
        "diffs": diffs,
        "start": failed[0] if failed else effective[0].index if effective else 0,
        "left": LEFT,
        "width": WIDTH,
        "scale": scale_of(trace),
    }


def _step_content(trace: PassTrace, step: PassStep) -> dict[str, Any]:
    words = [step.name, step.scope, step.status, *(name for name, _ in (*step.made, *step.gone))]
    time = "" if step.time_ns is None else format_ns(step.time_ns)
    is_failed = step.status in ("failed", "crashed")
    message = (_said(trace) if is_failed else "") or step.message
    return {**to_json(step), "ops": None, "message": message, "time": time, "key": " ".join(words).lower()}
