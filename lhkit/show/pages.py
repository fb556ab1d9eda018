"""All drawings of a trace as one, in a cell or as a file."""

from __future__ import annotations

import os
from pathlib import Path

from lhkit.draw.live_view import Drawing
from lhkit.load.catalogue_cache import known_help
from lhkit.model.boundary import public
from lhkit.model.files import write_file
from lhkit.model.trace_record import Trace
from lhkit.show.cell_bundles import trace_drawing
from lhkit.show.page_facts import page_facts
from lhkit.show.trace_view import trace_page


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
