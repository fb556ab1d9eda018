"""Drawings of lhkit's values: ``lhkit.show.timeline(trace)``, ``lhkit.show.diff(trace, step=3)`` and others.

Each returns a `Drawing`. At the end of a notebook's cell it is a picture that answers to clicks and keys, and
all drawings of one trace share what is selected; without a kernel it is the same picture.
``drawing.save(path)`` writes it as a file.

- ``comparison_page``: A self-contained HTML page of a comparison, with its provenance.
- ``trace_view``: Views and pages of traces: handles, steps, payload frames, graphs and tiles.
- ``value_views``: Views and MIME bundles of payloads, schedules, kernels, measurements, comparisons, graphs
  and tiles.
- ``trace_pictures``: Selectable drawings of traces, payloads and kernels; plots of speeds, op counts, live
  buffers and sweeps, with matplotlib.
"""

from lhkit.draw.live_view import Drawing
from lhkit.show.trace_pictures import (
    code,
    diff,
    graph,
    live_buffers,
    loops,
    op_counts,
    page,
    roofline,
    save_page,
    speed,
    sweep,
    throughput,
    tiles,
    timeline,
)
from lhkit.traces.graph.payload_graph import Quantity

__all__ = [
    "Drawing",
    "Quantity",
    "code",
    "diff",
    "graph",
    "live_buffers",
    "loops",
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
