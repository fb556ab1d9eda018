"""Views and MIME bundles of payloads, schedules, kernels, measurements, comparisons, graphs and tiles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lhkit.bench.speed_charts import draw_speed_bars
from lhkit.draw.figures import figure_png, figure_svg
from lhkit.draw.graph_svg import graph_svg
from lhkit.draw.layered_layout import layout
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import drawing_id, element, escaped, fitted, svg
from lhkit.draw.tables import comparison_lines, comparison_table, format_ns, table_html, table_text
from lhkit.draw.theme import MONO
from lhkit.draw.viewer import Frame, Pane, View
from lhkit.kernels.code_listing import CodeListing, code_html, code_text, hot_loops_table, hot_loops_text
from lhkit.load.catalogue_cache import known_help
from lhkit.model.errors import LhkitError
from lhkit.model.flow_graph import FlowGraph
from lhkit.model.instructions import HotLoops
from lhkit.model.measurement import Comparison, Measurement
from lhkit.model.payload import Payload
from lhkit.model.sample_statistics import median_interval, values_ns
from lhkit.model.schedule import Schedule
from lhkit.model.tile_picture import TilePicture
from lhkit.tiles.tile_svg import tiles_frames, tiles_svg
from lhkit.traces.diff.ir_html import payload_html
from lhkit.traces.report.schedule_html import schedule_html, schedule_lines

if TYPE_CHECKING:
    from lhkit.kernels.kernel import Kernel

_MOST_LINES = 60
_LINE_HEIGHT, _TEXT_WIDTH, _EDGE = 16.0, 860.0, 10.0
# Limit on tile frames: later iterations repeat the first ones.
_MOST_ITERATIONS = 32
_STRIP_WIDTH, _STRIP_EDGE = 560.0, 40.0


def text_picture(title: str, text: str, *, themed: bool = False) -> str:
    """Return the first lines of a text as SVG."""
    lines = text.rstrip("\n").split("\n")
    shown = lines[:_MOST_LINES]
    if len(lines) > len(shown):
        shown = [*shown, f"… {len(lines) - len(shown)} more lines"]
    width = _TEXT_WIDTH - 2 * _EDGE
    drawn = [
        element(
            "text",
            escaped(fitted(line, width, 12).replace(" ", "\N{NO-BREAK SPACE}")),
            x=_EDGE,
            y=_EDGE + 12 + _LINE_HEIGHT * number,
            fill="ink",
        )
        for number, line in enumerate(shown)
    ]
    height = 2 * _EDGE + _LINE_HEIGHT * len(shown)
    group = element("g", *drawn, font_family=MONO, font_size=12)
    return svg(_TEXT_WIDTH, height, group, label=title, themed=themed)


def payload_view(payload: Payload) -> View:
    """Return a payload as a view: its text."""
    pane = Pane("text", payload_words(payload), payload_html(payload.text))
    return View(drawing_id("payload", payload.sha256), (pane,))


def payload_words(payload: Payload) -> str:
    """Return source and functions of a payload in one line."""
    functions = ", ".join(f.describe() for f in payload.functions if not f.is_declaration)
    return f"{PurePath(payload.source).name}: {functions or 'no function with a body'}"


def schedule_view(schedule: Schedule, help: Mapping[str, str]) -> View:
    """Return the text of a schedule as a view, with help on its ops as tooltips."""
    lines = schedule_lines(schedule.text, help=help)
    pane = Pane("text", schedule_words(schedule), schedule_html(lines, label="schedule"))
    return View(drawing_id("schedule", schedule.sha256, schedule.entry, repr(schedule.settings)), (pane,))


def schedule_words(schedule: Schedule) -> str:
    """Return source, entry and knobs of a schedule in one line."""
    knobs = ", ".join(f"{name}={value}" for name, value in schedule.values.items())
    return f"{PurePath(schedule.source).name}: @{schedule.entry}{f' with {knobs}' if knobs else ''}"


def kernel_view(words: str, schedule: Schedule | None, hot: HotLoops | None) -> View:
    """Return a kernel as a view: its hot loops and its schedule."""
    panes = [Pane("kernel", words, "" if hot is None else _hot_loops_html(hot))]
    if schedule is not None:
        text = schedule_html(schedule_lines(schedule.text), label="schedule")
        panes.append(Pane("schedule", "Schedule", text, folded=True))
    return View(drawing_id("kernel", words), tuple(panes))


def _hot_loops_html(hot: HotLoops) -> str:
    said = "".join(
        element("li", element("code", escaped(where)), " ", escaped(sentence))
        for where, sentence in hot.sentences
    )
    return element("ul", said) + table_html(hot_loops_table(hot))


def measurement_words(measurement: Measurement) -> str:
    """Return a measurement in one line: median with interval, samples and verification."""
    values = values_ns(measurement)
    interval = median_interval(values)
    checked = measurement.verification
    check = "not checked" if checked is None else "checked" if checked.ok else "WRONG RESULT"
    knobs = "".join(f", {name}={value}" for name, value in measurement.knobs)
    settled = "" if measurement.is_stable else ", times had not settled"
    return (
        f"{measurement.name}{knobs}: {format_ns(interval.middle)} a call"
        f" ({format_ns(interval.low)} to {format_ns(interval.high)} with 95 %),"
        f" {len(values)} samples of {measurement.calls} calls{settled}{_beside(measurement)}, {check}"
    )


def _said(measurement: Measurement, round_: int) -> str:
    return ", beside another timing" if round_ in measurement.disturbed_rounds else ""


def _beside(measurement: Measurement) -> str:
    disturbed = len(measurement.disturbed_rounds)
    return f", {disturbed} of them beside another timing on this machine" if disturbed else ""


def measurement_svg(measurement: Measurement, *, themed: bool = True) -> str:
    """Return the samples as dots, one row per round, with median and interval; disturbed samples are hollow."""
    values = values_ns(measurement)
    interval = median_interval(values)
    low, high = min(values), max(values)
    scale = (_STRIP_WIDTH - 2 * _STRIP_EDGE) / ((high - low) or 1.0)

    def x(value: float) -> float:
        return _STRIP_EDGE + (value - low) * scale if high > low else _STRIP_WIDTH / 2

    rows = max(len(values), 1)
    step = min(8.0, 80.0 / rows)
    bottom = 14 + step * rows
    dots = [
        element(
            "circle",
            element("title", f"round {round_}: {escaped(format_ns(value))}{_said(measurement, round_)}"),
            cx=x(value),
            cy=10 + step * i,
            r=3,
            fill="none" if round_ in measurement.disturbed_rounds else "live",
            stroke="consumed" if round_ in measurement.disturbed_rounds else None,
        )
        for i, (round_, value) in enumerate(measurement.samples_ns)
    ]
    band = element(
        "rect",
        x=x(interval.low),
        y=2,
        width=max(x(interval.high) - x(interval.low), 1.0),
        height=bottom - 4,
        fill="created-paper",
    )
    middle = element(
        "line",
        x1=x(interval.middle),
        x2=x(interval.middle),
        y1=2,
        y2=bottom - 2,
        stroke="ink",
        stroke_dasharray="4 3",
    )
    edges = [(low, "start" if high > low else "middle"), *([(high, "end")] if high > low else [])]
    ticks = [
        element("text", format_ns(value), x=x(value), y=bottom + 14, fill="faint", text_anchor=anchor)
        for value, anchor in edges
    ]
    label = measurement_words(measurement)
    return svg(_STRIP_WIDTH, bottom + 22, band, middle, *dots, *ticks, label=label, themed=themed)


def measurement_view(measurement: Measurement) -> View:
    """Return a measurement as a view: its samples as dots."""
    pane = Pane(
        "measurement",
        measurement_words(measurement),
        measurement_svg(measurement, themed=False),
        picture=measurement_svg(measurement, themed=False),
    )
    return View(drawing_id("measurement", repr(measurement)), (pane,))


def graph_pane(name: str, title: str, flow: FlowGraph, *, folded: bool = False) -> Pane:
    """Return a graph as a pane."""
    places = layout(flow)
    picture = "" if folded else graph_svg(places, themed=False)
    return Pane(name, title, graph_svg(places), picture=picture, folded=folded)


def tiles_view(key: str, picture: TilePicture) -> View:
    """Return a tile picture as a view with a slider over its first iterations."""
    return View(key, (tiles_pane(picture),))


def tiles_pane(picture: TilePicture, most: int = _MOST_ITERATIONS, *, folded: bool = False) -> Pane:
    """Return a tile picture as a pane with a slider over its first iterations."""
    drawn = tiles_frames(picture, most)
    frames = tuple(Frame(n, tiles, words) for n, (words, tiles) in enumerate(drawn))
    still = "" if folded else tiles_svg(picture, themed=False)
    title = f"Tiles of {picture.op}"
    return Pane("tiles", title, frames=frames, axis="iteration", picture=still, folded=folded)


def code_view(listing: CodeListing) -> tuple[View, str]:
    """Return machine code as a view, and as text."""
    text = code_text(listing)
    pane = Pane("code", f"Hot loops of @{listing.function}, {listing.architecture}", code_html(listing))
    return View(drawing_id("code", text), (pane,)), text


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
