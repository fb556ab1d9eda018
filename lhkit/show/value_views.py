"""Views and MIME bundles of payloads, schedules, kernels, measurements, comparisons, graphs and tiles."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lhkit.bench.speed_charts import draw_speed_bars
from lhkit.draw.figures import figure_html, figure_png, figure_svg
from lhkit.draw.graph_svg import graph_html, graph_svg
from lhkit.draw.layered_layout import layout
from lhkit.draw.live_view import Drawing
from lhkit.draw.svg import drawing_id, element, escaped, fitted, svg, text_width
from lhkit.draw.tables import (
    comparison_lines,
    comparison_table,
    format_bytes,
    format_ns,
    format_operations,
    table_html,
    table_text,
)
from lhkit.draw.theme import MONO
from lhkit.draw.viewer import Frame, Pane, View, failure_html
from lhkit.kernels.code_listing import hot_loops_table, hot_loops_text
from lhkit.load.catalogue_cache import known_help
from lhkit.model.errors import LhkitError
from lhkit.model.flow_graph import FlowGraph
from lhkit.model.instructions import HotLoops
from lhkit.model.measurement import Comparison, Measurement
from lhkit.model.pass_trace import PassTrace
from lhkit.model.payload import Payload
from lhkit.model.printable import counted
from lhkit.model.sample_statistics import judge_run, median_interval, values_ns
from lhkit.model.schedule import Schedule
from lhkit.model.tile_picture import TilePicture
from lhkit.model.trace_record import Trace
from lhkit.pipelines.pass_views import counts_html, counts_svg, passes_table, passes_text, summary
from lhkit.tiles.tile_facts import MOST_ITERATIONS, first_shown
from lhkit.tiles.tile_svg import tiles_frames, tiles_svg
from lhkit.traces.diff.ir_html import payload_html
from lhkit.traces.report.schedule_html import schedule_html, schedule_lines

if TYPE_CHECKING:
    from lhkit.kernels.kernel import Kernel
    from lhkit.sweeps.sweep_summary import SweepResult

_MOST_LINES = 60
_LINE_HEIGHT, _TEXT_WIDTH, _WIDEST, _EDGE = 16.0, 860.0, 1800.0, 10.0
_STRIP_WIDTH, _STRIP_EDGE = 560.0, 40.0


def text_picture(
    title: str, text: str, papers: Mapping[str, str] = MappingProxyType({}), *, most: int = _MOST_LINES
) -> str:
    """Return the first ``most`` lines of a text as SVG.

    ``papers`` has the role of the background of lines that begin with a sign; with it long lines make the
    picture wide, up to a limit.
    """
    lines = text.rstrip("\n").split("\n")
    shown = lines[:most]
    if len(lines) > len(shown):
        shown = [*shown, f"… {len(lines) - len(shown)} more lines"]
    needed = max(text_width(line, 12) for line in shown) if papers else 0.0
    whole = min(max(_TEXT_WIDTH, needed + 2 * _EDGE), _WIDEST)
    width = whole - 2 * _EDGE
    drawn = []
    for number, line in enumerate(shown):
        if paper := papers.get(line[:1]):
            size = {"width": whole, "height": _LINE_HEIGHT}
            drawn.append(element("rect", x=0, y=_EDGE + _LINE_HEIGHT * number, **size, fill=paper))
        words = escaped(fitted(line, width + 1, 12).replace(" ", "\N{NO-BREAK SPACE}"))
        drawn.append(element("text", words, x=_EDGE, y=_EDGE + 12 + _LINE_HEIGHT * number, fill="ink"))
    height = 2 * _EDGE + _LINE_HEIGHT * len(shown)
    group = element("g", *drawn, font_family=MONO, font_size=12)
    return svg(whole, height, group, label=title, themed=False)


def schedule_words(schedule: Schedule) -> str:
    """Return source, entry and knobs of a schedule in one line."""
    knobs = ", ".join(f"{name}={value}" for name, value in schedule.values.items())
    return f"{PurePath(schedule.source).name}: @{schedule.entry}{f' with {knobs}' if knobs else ''}"


_VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "sse4_2": "SSE4.2", "neon": "NEON"}


def _names(*sources: str) -> str:
    return ", ".join(dict.fromkeys(PurePath(source).name for source in sources))


def run_words(*comparisons: Comparison) -> str:
    """Return what comparisons are of, in a line: payloads, sizes, runs and the machine."""
    first, environment = comparisons[0], dict(comparisons[0].environment)
    features = environment.get("vector extensions", "").split()
    vectors = next((name for key, name in _VECTORS.items() if key in features), "")
    cpu = environment.get("cpu", "unknown CPU") + (f" ({vectors})" if vectors else "")
    counts = dict.fromkeys(c.rounds for c in comparisons)
    rounds = " + ".join(str(c.rounds) for c in comparisons)
    if len(counts) == 1 < len(comparisons):
        rounds = f"{len(comparisons)} runs of {first.rounds}"
    noisy = "" if all(judge_run(c).is_quiet for c in comparisons) else ", noisy"
    parts = [_names(*(c.payload for c in comparisons)), first.element_type or ""]
    if len(comparisons) == 1 and first.flops:
        size = f", {format_bytes(first.bytes)}" if first.bytes else ""
        parts.append(f"{format_operations(first.flops)}{size} a call")
    where = f"core {first.core}" if first.core is not None else "no fixed core"
    version = environment.get("lhkit")
    parts += [f"{rounds} rounds{noisy}", f"{cpu}, {where}", f"lhkit {version}" if version else ""]
    return " · ".join(part for part in parts if part)


def trace_words(trace: Trace) -> str:
    """Return what a trace is of, in a line: payload, schedule, knobs and bindings."""
    schedule, tools = trace.schedule, trace.toolchain
    knobs = ", ".join(f"{name}={value}" for name, value in schedule.knobs)
    parts = (
        _names(trace.payload.source),
        f"{_names(schedule.source)} @{schedule.entry.removeprefix('@')}",
        knobs,
        f"{tools.bindings} {tools.version}",
    )
    return " · ".join(part for part in parts if part)


def kernel_words(kernel: Kernel) -> str:
    """Return what a kernel is of, in a line: payload, function, schedule and target."""
    what = schedule_words(kernel.schedule) if kernel.schedule else "unscheduled"
    target = kernel.target or "this CPU"
    return f"{_names(kernel.payload.source)} · {kernel.function.describe()} · {what} · for {target}"


def sweep_words(result: SweepResult) -> str:
    """Return what a sweep is of, in a line: payloads, schedule, variants, store."""
    machines = len({record.environment for record in result.records})
    parts = (
        _names(*result.payloads),
        _names(result.schedule.source),
        f"{len(result.records):,} variants on {counted(machines, 'kind')} of machine",
        _names(str(result.store)),
    )
    return " · ".join(part for part in parts if part)


def _hot_loops_html(hot: HotLoops) -> str:
    items = [element("li", element("code", escaped(at)), " ", escaped(said)) for at, said in hot.sentences]
    return element("ul", *items) + table_html(hot_loops_table(hot))


def measurement_words(measurement: Measurement) -> str:
    """Return a measurement in one line: median with interval, samples and verification."""
    values = values_ns(measurement)
    interval = median_interval(values)
    checked = measurement.verification
    check = "not checked" if checked is None else "checked" if checked.ok else "WRONG RESULT"
    knobs = "".join(f", {name}={value}" for name, value in measurement.knobs)
    settled = "" if measurement.is_stable else ", times had not settled"
    disturbed = len(measurement.disturbed_rounds)
    beside = f", {disturbed} of them beside another timing on this machine" if disturbed else ""
    return (
        f"{measurement.name}{knobs}: {format_ns(interval.middle)} a call"
        f" ({format_ns(interval.low)} to {format_ns(interval.high)} with 95 %),"
        f" {len(values)} samples of {measurement.calls} calls{settled}{beside}, {check}"
    )


def measurement_svg(measurement: Measurement) -> str:
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
    dots = []
    for i, (round_, value) in enumerate(measurement.samples_ns):
        is_disturbed = round_ in measurement.disturbed_rounds
        colours = {"fill": "none", "stroke": "consumed"} if is_disturbed else {"fill": "live"}
        said = f"round {round_}: {escaped(format_ns(value))}{', beside another timing' * is_disturbed}"
        dots.append(element("circle", element("title", said), cx=x(value), cy=10 + step * i, r=3, **colours))
    left, at, right = map(x, (interval.low, interval.middle, interval.high))
    width = max(right - left, 1.0)
    band = element("rect", x=left, y=2, width=width, height=bottom - 4, fill="created-paper")
    middle = element("line", x1=at, x2=at, y1=2, y2=bottom - 2, stroke="ink", stroke_dasharray="4 3")
    edges = [(low, "start" if high > low else "middle"), *([(high, "end")] if high > low else [])]
    ticks = [
        element("text", format_ns(value), x=x(value), y=bottom + 14, fill="faint", text_anchor=anchor)
        for value, anchor in edges
    ]
    label = measurement_words(measurement)
    key, y = _strip_key(is_disturbed=bool(measurement.disturbed_rounds)), bottom + 34
    drawn = (band, middle, *dots, *ticks, element("g", *key, transform=f"translate(0 {y:g})"))
    return svg(_STRIP_WIDTH, y + 10, *drawn, label=label, themed=False)


def _strip_key(*, is_disturbed: bool) -> list[str]:
    """Return the marks of a drawing of samples, each with its meaning."""
    signs = [
        (element("circle", cx=0, cy=0, r=3, fill="live"), "a sample, rounds from above down"),
        (element("line", x1=0, x2=0, y1=-7, y2=7, stroke="ink", stroke_dasharray="4 3"), "median"),
        (element("rect", x=-7, y=-7, width=14, height=14, fill="created-paper"), "95 % interval"),
    ]
    if is_disturbed:
        hollow = element("circle", cx=0, cy=0, r=3, fill="none", stroke="consumed")
        signs.append((hollow, "beside another timing"))
    found, x = [], _STRIP_EDGE
    for sign, words in signs:
        said = element("text", words, x=12, y=4, font_size=11, fill="faint")
        found.append(element("g", sign, said, transform=f"translate({x:g} 0)"))
        x += 34 + text_width(words, 11, mono=False)
    return found


def graph_pane(name: str, title: str, flow: FlowGraph, *, folded: bool = False) -> Pane:
    """Return a graph as a pane."""
    picture = "" if folded else graph_svg(layout(flow), themed=False)
    return Pane(name, title, graph_html(flow), picture=picture, folded=folded)


def tiles_pane(picture: TilePicture, most: int = MOST_ITERATIONS, *, folded: bool = False) -> Pane:
    """Return a tile picture as a pane with a slider over its first iterations."""
    drawn = tiles_frames(picture, most)
    frames = tuple(Frame(n, tiles, words) for n, (words, tiles) in enumerate(drawn))
    still = "" if folded else tiles_svg(picture, themed=False)
    title = f"Tiles of {picture.op}"
    return Pane(
        "tiles",
        title,
        frames=frames,
        axis="iteration",
        picture=still,
        folded=folded,
        start=first_shown(picture.iterations, most),
    )


def payload_bundle(payload: Payload) -> dict[str, Any]:
    """Return a payload as a MIME bundle: its text."""
    functions = ", ".join(f.describe() for f in payload.functions if not f.is_declaration)
    words = f"{PurePath(payload.source).name}: {functions or 'no function with a body'}"
    key = drawing_id("payload", payload.sha256)
    return _text_bundle(key, words, payload.text, payload_html(payload.text))


def schedule_bundle(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as a MIME bundle: its text, with help on its ops as tooltips."""
    html = schedule_html(schedule_lines(schedule.text, help=known_help()), label="schedule")
    key = drawing_id("schedule", schedule.sha256, schedule.entry, repr(schedule.settings))
    return _text_bundle(key, schedule_words(schedule), schedule.text, html)


def _text_bundle(key: str, words: str, text: str, html: str) -> dict[str, Any]:
    view = View(key, (Pane("text", words, html),))
    picture = functools.partial(text_picture, words, f"// {words}\n{text}")
    return Drawing(view, f"{words}\n{text}", picture, is_text=True)._repr_mimebundle_()


def kernel_bundle(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as a MIME bundle: its hot loops and its schedule."""
    what = schedule_words(kernel.schedule) if kernel.schedule else "unscheduled"
    words = f"{kernel.function.describe()}, {what}, compiled in {kernel.compile_ns / 1e6:.0f} ms"
    html = ""
    try:
        hot = kernel.hot_loops()
        html, text = _hot_loops_html(hot), f"{words}\n{hot_loops_text(hot)}"
    except LhkitError as error:
        text = f"{words}\n{error.failure.message}"
    panes = [Pane("kernel", words, html)]
    if kernel.schedule is not None:
        lines = schedule_html(schedule_lines(kernel.schedule.text), label="schedule")
        panes.append(Pane("schedule", "Schedule", lines, folded=True))
    view = View(drawing_id("kernel", words), tuple(panes))
    return Drawing(view, text, lambda: text_picture(words, text), is_text=True)._repr_mimebundle_()


def measurement_bundle(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as a MIME bundle: its samples as dots, and its median in words."""
    words, drawn = measurement_words(measurement), measurement_svg(measurement)
    view = View(
        drawing_id("measurement", repr(measurement)), (Pane("measurement", words, drawn, picture=drawn),)
    )
    return Drawing(view, words, lambda: drawn)._repr_mimebundle_()


def comparison_bundle(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as a MIME bundle: table and bars."""
    table = comparison_table(comparison)
    lines = "\n".join(comparison_lines(comparison))
    figure = draw_speed_bars(comparison)
    bars = figure_svg(figure)
    panes = (
        Pane("numbers", "", f'{table_html(table)}<pre class="lh-note">{escaped(lines)}</pre>'),
        Pane("bars", "", figure_html(figure), picture=bars),
    )
    view = View(drawing_id("comparison", repr(comparison)), panes)
    text = f"{table_text(table)}\n{lines}"
    return Drawing(view, text, lambda: bars, png=lambda: figure_png(figure))._repr_mimebundle_()


def passes_bundle(trace: PassTrace) -> dict[str, Any]:
    """Return passes as a MIME bundle: their op counts, and a table."""
    html, text = table_html(passes_table(trace)), passes_text(trace)
    if trace.failure is not None:
        html = failure_html(trace.failure.describe()) + html
        text = f"{text}\n{trace.failure.describe()}"
    panes = (counts_pane(trace), Pane("passes", "", html))
    view = View(drawing_id("passes", trace.source, repr(trace.steps)), panes)
    return Drawing(view, text, lambda: counts_svg(trace, themed=False))._repr_mimebundle_()


def counts_pane(trace: PassTrace) -> Pane:
    """Return the ops by dialect over the passes as a pane."""
    return Pane("op-counts", summary(trace), counts_html(trace), picture=counts_svg(trace, themed=False))
