"""Views: panes with shared steps and one selection, as JSON for the script and as static HTML.

The script is ``lhkit/draw/static/lhkit.js``, for notebooks and pages alike, with ``parts.js`` that all widgets
share. `view_html` is the static picture without it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lhkit.draw.svg import drawing_id, element, escaped, html_document
from lhkit.draw.tables import Table, table_html
from lhkit.draw.theme import ir_style, static_text, theme_style

# The scripts that drawings share.
DRAWING_FILES = ("parts.js", "timeline_drawing.js", "timeline.js")
# Shorter texts are not compressed.
_PACK_FROM = 2000


@dataclass(frozen=True, slots=True)
class Frame:
    """One of several fragments of a pane; ``at`` is its step, or its number on the pane's own axis."""

    at: int
    html: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Pane:
    """One drawing of a view.

    Attributes:
        axis: Axis of the frames: ``step``, which all panes share, or its own, such as ``iteration``.
        picture: An SVG without a style sheet, for readers that strip styles and inline SVG (a notebook that is
            not trusted); empty where the fragment is text.
        start: Number of the frame on the pane's own axis that is shown first.
        timeline: Data of ``timeline.js``, which draws them in place of the fragment; empty for other drawings.
    """

    name: str
    title: str
    html: str = ""
    frames: tuple[Frame, ...] = ()
    axis: str = "step"
    folded: bool = False
    picture: str = ""
    timeline: str = ""
    start: int = 0


@dataclass(frozen=True, slots=True)
class ViewStep:
    """A position of the slider: the index of a step (-1: before the first), its label, how it ended."""

    index: int
    label: str
    status: str = "ok"


@dataclass(frozen=True, slots=True)
class View:
    """Drawings that share steps and a selection.

    Attributes:
        ends: At which position each step ended, as a step may contain others, by step.
        held: What handles point to, by handle: (position, ids of payload ops) wherever that changed.
    """

    key: str
    panes: tuple[Pane, ...]
    steps: tuple[ViewStep, ...] = ()
    start: int = -1
    names: tuple[tuple[str, str], ...] = ()
    ends: tuple[tuple[int, int], ...] = ()
    held: tuple[tuple[str, tuple[tuple[int, str], ...]], ...] = ()


def script(*names: str, room: str = "draw", shared: Sequence[str] = ("parts.js",)) -> str:
    """Return these scripts of a room as one module, behind those of this room that they use."""
    return "\n".join([*map(static_text, shared), *(static_text(name, room) for name in names)])


def view_style() -> str:
    """Return the style sheet of views, with the colours of the theme."""
    return f"{theme_style()}\n{ir_style()}\n{static_text('lhkit.css')}"


def view_content(view: View, *, least: int = _PACK_FROM) -> dict[str, Any]:
    """Return a view as JSON data for the script; long fragments are packed, what it looks up from ``least``."""
    lookup = {"names": dict(view.names), "ends": dict(view.ends), "held": dict(view.held)}
    return {
        "key": view.key,
        "start": view.start,
        "steps": [{"index": s.index, "label": s.label, "status": s.status} for s in view.steps],
        "panes": [_pane_content(pane) for pane in view.panes],
        "lookup": packed(json.dumps(lookup, separators=(",", ":")), least=least),
    }


def _pane_content(pane: Pane) -> dict[str, Any]:
    content: dict[str, Any] = {"name": pane.name, "title": pane.title, "axis": pane.axis}
    if pane.folded:
        content["folded"] = True
    if pane.timeline:
        return {**content, "timeline": packed(pane.timeline)}
    frames = [{"at": f.at, "label": f.label, "html": packed(f.html)} for f in pane.frames]
    return (
        {**content, "start": pane.start, "frames": frames} if frames else {**content, "html": packed(pane.html)}
    )


def packed(text: str, *, least: int = _PACK_FROM, level: int = 9) -> str | Mapping[str, str]:
    """Return a text as the script unpacks it: itself, or zlib in base64 if it is long."""
    if len(text) < least:
        return text
    return {"z": base64.b64encode(zlib.compress(text.encode(), level)).decode()}


def view_id(view: View) -> str:
    """Return an id that equal views have in common."""
    panes = [[p.name, p.title, p.html, *[f.html for f in p.frames]] for p in view.panes]
    return drawing_id(view.key, str(view.start), json.dumps(panes))


def view_html(view: View, *, id_: str | None = None) -> str:
    """Return a view as HTML that needs no script: each pane at the step that is shown first.

    It reads well where styles and inline SVG are stripped too, as notebooks do that are not trusted.
    """
    panes = "".join(_pane_html(pane, view.start) for pane in view.panes)
    style = element("style", view_style())
    return element("div", style, panes, class_="lh lh-view", data_lh_view=id_ or view_id(view))


def _pane_html(pane: Pane, start: int) -> str:
    inside = pane.html
    if pane.frames:
        at = start if pane.axis == "step" else pane.start
        shown = [f for f in pane.frames if f.at <= at] or [pane.frames[0]]
        inside = shown[-1].html
    if pane.picture:
        # `hidden` survives where style sheets are stripped; then the image is shown instead.
        prefix = "data:image/svg+xml;base64,"
        data = base64.b64encode(pane.picture.encode()).decode()
        style = "background:#fff;max-width:100%"
        image = f'<img class="lh-unstyled" alt="{escaped(pane.title)}" style="{style}" src="{prefix}{data}">'
        inside = element("div", inside, class_="lh-picture", hidden="") + image
    body = element("div", inside, class_="lh-body")
    if pane.folded:
        return element("details", element("summary", escaped(pane.title)), body, class_="lh-pane")
    heading = element("h3", escaped(pane.title)) if pane.title else ""
    return element("section", heading, body, class_="lh-pane")


def failure_html(said: str, compiler: str = "") -> str:
    """Return a failure: why, then source lines with carets in a fixed pitch, and folded what MLIR said."""
    sentence, _, rest = said.partition("\n")
    places = element("pre", escaped(rest)) if rest else ""
    inside = element("div", escaped(sentence)) + places + compiler_html(compiler)
    return element("div", inside, class_="lh-failure")


def compiler_html(said: str) -> str:
    """Return what MLIR said, folded, in a fixed pitch; "" if it said nothing."""
    if not said:
        return ""
    return element("details", element("summary", "what MLIR said"), element("pre", escaped(said)))


# A stand-in for the widget model where there is no kernel, or none that the document can reach.
_STAND_IN = """
const model = { get: (name) => data[name], set: (name, value) => { data[name] = value; },
  save_changes() {}, on() {}, off() {} };
"""
_PAGE = f"""
const data = JSON.parse(document.getElementById("lh-data").textContent);{_STAND_IN}
render({{ model, el: document.querySelector("[data-lh-view]") }});
"""


def script_json(data: object) -> str:
    """Return JSON for inside of a script element, which ends at "</script" whatever that is a part of."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def framed_html(view: View) -> str:
    """Return a view as HTML with its data and script, for an output that lives in a document of its own."""
    data = script_json({"content": view_content(view), "view_id": view_id(view)})
    act = f"{script('lhkit.js', shared=DRAWING_FILES)}\nconst data = {data};{_STAND_IN}initialize({{ model }});"
    return view_html(view) + element("script", act, type="module")


_STYLE = """
body { max-width: 110rem; } h1 { margin-bottom: .2em; overflow-wrap: anywhere; }
.lh-view { margin-top: 1.2rem; } .lh-steps { padding: .6em 0; }
"""


def page_html(view: View, *, title: str, summary: str, facts: Sequence[tuple[str, str]], hint: str = "") -> str:
    """Return a view as a page; ``hint`` says how to use it, which no paper has."""
    data = script_json({"content": view_content(view)})
    made = element("div", table_html(Table(("", ""), tuple(facts))), class_="facts")
    parts = (
        element("h1", escaped(title)),
        element("p", escaped(summary), element("span", escaped(hint), class_="lh-hint") if hint else ""),
        view_html(view),
        element("h2", "How this was made"),
        made,
        element("script", data, type="application/json", id="lh-data"),
        element("script", script("lhkit.js", shared=DRAWING_FILES) + _PAGE, type="module"),
    )
    return html_document(title, parts, style=_STYLE)
