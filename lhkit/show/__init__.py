"""Drawings of lhkit's values: ``lhkit.show.timeline(trace)``, ``lhkit.show.diff(trace, step=3)`` and others.

Each returns a `Drawing`. At the end of a notebook's cell it is a picture that answers to clicks and keys, and
all drawings of one trace share what is selected; without a kernel it is the same picture.
``drawing.save(path)`` writes it as a file.

- ``comparison_page``: One self-contained HTML page of a comparison: no kernel, no network, and it says how it
  was made.
- ``trace_view``: A trace as a view: its handles, its steps, and the payload after each of them.
- ``value_views``: Payloads, schedules, kernels and measurements as views: texts with their colours, and
  samples as dots.
- ``number_figures``: Figures of numbers: bars, rooflines, sizes, op counts, live buffers; in matplotlib, also
  for papers.
- ``trace_pictures``: Drawings of traces, payloads and kernels, of which parts can be selected.
- ``cell_bundles``: How values show themselves at the end of a cell: each as a MIME bundle of HTML, SVG, PNG
  and text.
"""

from lhkit.draw.live_view import Drawing
from lhkit.show.number_figures import live_buffers, op_counts, roofline, speed, sweep, throughput
from lhkit.show.trace_pictures import code, diff, graph, page, save_page, tiles, timeline
from lhkit.traces.graph.payload_graph import Quantity

__all__ = [
    "Drawing",
    "Quantity",
    "code",
    "diff",
    "graph",
    "live_buffers",
    "op_counts",
    "page",
    "roofline",
    "save_page",
    "speed",
    "sweep",
    "throughput",
    "tiles",
    "timeline",
]
