"""A view as one HTML file: no kernel, no network; it opens from disk and says how it was made."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lhkit.draw.svg import element, escaped, html_document
from lhkit.draw.tables import Table, table_html
from lhkit.draw.viewer import View, script, view_content, view_html

# What the script asks of a widget's model, for a page that has none.
_STAND_IN = """
const data = JSON.parse(document.getElementById("lh-data").textContent);
const model = { get: (name) => data[name], set: (name, value) => { data[name] = value; },
  save_changes() {}, on() {}, off() {} };
render({ model, el: document.querySelector("[data-lh-view]") });
"""

_STYLE = """
body { max-width: 110rem; } h1 { margin-bottom: .2em; overflow-wrap: anywhere; }
.lh-view { margin-top: 1.2rem; } .lh-steps { padding: .6em 0; }
"""


def page_html(view: View, *, title: str, summary: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return a view as a page.

    Args:
        view: What it shows.
        title: Its heading.
        summary: A sentence under it.
        facts: How it was made, as (name, value).
    """
    # A script element ends at "</script", whatever it holds; JSON may write "<" in another way.
    data = json.dumps({"content": view_content(view)}, separators=(",", ":")).replace("<", "\\u003c")
    made = element("div", table_html(Table(("", ""), tuple(facts))), class_="facts")
    parts = (
        element("h1", escaped(title)),
        element("p", escaped(summary)),
        view_html(view),
        element("h2", "How this was made"),
        made,
        element("script", data, type="application/json", id="lh-data"),
        element("script", script("lhkit.js") + _STAND_IN, type="module"),
    )
    return html_document(title, parts, style=_STYLE)
