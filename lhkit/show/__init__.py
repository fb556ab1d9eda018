"""Drawings of lhkit's values: ``lhkit.show.timeline(trace)``, ``lhkit.show.diff(trace, step=3)`` and others.

Each returns a `Drawing`. At the end of a notebook's cell it is a picture that answers to clicks and keys, and
all drawings of one trace share what is selected; without a kernel it is the same picture.
``drawing.save(path)`` writes it as .svg, .png, .pdf or .html, with a title and what it is of.

Which picture answers which question:

- Which step invalidated this handle, and which others with it? ``timeline(trace)``
- What did this step change? ``diff(trace, step=5)``
- What flows between the ops of the payload? ``graph(trace, step=5)``
- Which step needs which handle? ``graph(trace)``
- Which loops are around an op, in which order? ``loops(trace)``
- What does an iteration touch, and which cache holds it? ``tiles(trace)``
- What kinds of ops does each step leave? ``op_counts(trace)``
- Which instructions does a step become? ``code(kernel)``
- How much memory is live at once? ``live_buffers(kernel)``
- Which is faster, and is the difference more than noise? ``speed(comparison)``
- How far is it from what the core can do? ``roofline(comparison)``
- How does speed change with size? ``throughput({256: a, 512: b})``
- Which values of the knobs are good? ``sweep(result)``
- How do I hand a whole trace on, as one page? ``save_page(trace, "page.html")``

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
