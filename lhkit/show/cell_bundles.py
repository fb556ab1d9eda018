"""MIME bundles of values at the end of a cell: HTML, SVG, PNG and text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lhkit.bench.speed_charts import draw_speed_bars
from lhkit.draw.figures import figure_png, figure_svg
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import drawing_id, escaped
from lhkit.draw.tables import comparison_lines, comparison_table, table_html, table_text
from lhkit.draw.viewer import Pane, View
from lhkit.kernels.code_listing import hot_loops_text
from lhkit.load.catalogue_cache import known_help
from lhkit.model.errors import LhkitError
from lhkit.model.measurement import Comparison, Measurement
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.trace_record import Trace
from lhkit.show.trace_view import PageFacts, whole_trace_view
from lhkit.show.value_views import (
    kernel_view,
    measurement_svg,
    measurement_view,
    measurement_words,
    payload_view,
    payload_words,
    schedule_view,
    schedule_words,
    text_picture,
)
from lhkit.traces.report.trace_text import plain_text, trace_lines
from lhkit.traces.timeline.handle_timeline import timeline_drawing, timeline_svg

if TYPE_CHECKING:
    from lhkit.kernels.kernel import Kernel


def trace_bundle(trace: Trace) -> dict[str, Any]:
    """Return a trace as a MIME bundle: its handles, its schedule, the payload after each step."""
    return trace_drawing(trace)._repr_mimebundle_()


def trace_drawing(trace: Trace, facts: PageFacts | None = None) -> Drawing:
    """Return all drawings of a trace as one; ``facts`` are the drawings that need a worker."""
    text = plain_text(trace_lines(trace))
    view = whole_trace_view(trace, known_help(), facts)
    return Drawing(view, text, lambda: timeline_svg(timeline_drawing(trace), themed=False))


def payload_bundle(payload: Payload) -> dict[str, Any]:
    """Return a payload as a MIME bundle: its text."""
    words = payload_words(payload)
    return _text_drawing(payload_view(payload), words, payload.text)._repr_mimebundle_()


def schedule_bundle(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as a MIME bundle: its text."""
    words = schedule_words(schedule)
    return _text_drawing(schedule_view(schedule, known_help()), words, schedule.text)._repr_mimebundle_()


def _text_drawing(view: View, words: str, text: str) -> Drawing:
    return Drawing(view, f"{words}\n{text}", lambda: text_picture(words, f"// {words}\n{text}"), is_text=True)


def kernel_bundle(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as a MIME bundle: its hot loops and its schedule."""
    what = schedule_words(kernel.schedule) if kernel.schedule else "unscheduled"
    words = f"{kernel.function.describe()}, {what}, compiled in {kernel.compile_ns / 1e6:.0f} ms"
    hot = None
    try:
        hot = kernel.hot_loops()
        text = f"{words}\n{hot_loops_text(hot)}"
    except LhkitError as error:
        text = f"{words}\n{error.failure.message}"
    view = kernel_view(words, kernel.schedule, hot)
    return Drawing(view, text, lambda: text_picture(words, text), is_text=True)._repr_mimebundle_()


def measurement_bundle(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as a MIME bundle: its samples as dots, and its median in words."""
    view = measurement_view(measurement)
    words = measurement_words(measurement)
    return Drawing(view, words, lambda: measurement_svg(measurement, themed=False))._repr_mimebundle_()


def comparison_bundle(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as a MIME bundle: table and bars."""
    table = comparison_table(comparison)
    lines = "\n".join(comparison_lines(comparison))
    figure = draw_speed_bars(comparison)
    bars = figure_svg(figure)
    panes = (
        Pane("numbers", "", f'{table_html(table)}<pre class="lh-note">{escaped(lines)}</pre>'),
        Pane("bars", "", bars, picture=bars),
    )
    view = View(drawing_id("comparison", repr(comparison)), panes)
    text = f"{table_text(table)}\n{lines}"
    return Drawing(view, text, lambda: bars, png=lambda: figure_png(figure))._repr_mimebundle_()
