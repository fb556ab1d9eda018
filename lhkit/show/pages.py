"""All drawings of a trace as one, in a cell or as a file."""

from __future__ import annotations

import os
from pathlib import Path

from lhkit.model.boundary import public
from lhkit.model.trace import Trace
from lhkit.render.trace_view import trace_page
from lhkit.session.catalogues import known_help
from lhkit.session.files import write_file
from lhkit.session.page_facts import page_facts
from lhkit.widgets.bundles import trace_drawing
from lhkit.widgets.drawing import Drawing


@public
def page(trace: Trace) -> Drawing:
    """Return all drawings of a trace as one: its handles, its schedule, the payload after each step, its tiles.

    Graphs of payloads are drawn where trace and payload are small.
    """
    return trace_drawing(trace, page_facts(trace))


@public
def save_page(trace: Trace, path: str | os.PathLike[str], *, command: str | None = None) -> Path:
    """Write a trace as one HTML file: no kernel, no network, steps to go through, one selection.

    Args:
        trace: The trace.
        path: Where; the file appears whole or not at all.
        command: The command line to state instead of the one that repeats the trace.

    Returns:
        Its path.

    Raises:
        UsageError: It cannot be written there.
    """
    text = trace_page(trace, known_help(), page_facts(trace), command=command)
    write_file(os.fspath(path), text.encode(errors="replace"))
    return Path(path)
