"""The strip at the top of the README: a step that fails, what invalidated its handle, and the repair, measured.

A shipped schedule with one handle exchanged is traced, its first repair is the shipped schedule again, and the
times are those of ``pictures/fc_relu_bench.json``, which ``lhkit bench --json`` wrote for this payload and
schedule and for the family file of the layer. They follow from the speeds, as in the bars and tables.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import textwrap
from pathlib import Path
from typing import Any

import lhkit
from lhkit.draw.entry_looks import entry_looks
from lhkit.draw.svg import element, escaped, svg
from lhkit.draw.theme import MONO, figure_paint
from lhkit.model.trace_record import Trace
from lhkit.traces.timeline.handle_timeline import timeline_drawing
from lhkit.traces.timeline.timeline_records import Row, TimelineDrawing
from lhkit.traces.timeline.timeline_svg import timeline_svg

ROOT = Path(__file__).parents[1]
BENCH = Path(__file__).parent / "pictures" / "fc_relu_bench.json"
SCHEDULE = ROOT / "schedules" / "fc_relu_tile_fuse_vectorize.mlir"
RIGHT, WRONG = "tile_using_for %matmul_tile", "tile_using_for %matmul"
# The handles that the story is about.
HANDLES = ("%relu", "%matmul", "%relu_tile", "%loops#1", "%matmul_tile")
NAMES = {"fc_relu_tile_fuse_vectorize": "repaired schedule", "fc_relu": "fc_relu.mlir, by strips"}
HEIGHT, PAD = 320.0, 14.0
WIDTHS = (396.0, 424.0, 300.0)
CODE, SMALL, ROW = 11.0, 12.0, 37.0


def front_strip() -> str:
    """Return the strip as SVG."""
    text = SCHEDULE.read_text(encoding="utf-8")
    broken = text.replace(RIGHT, WRONG)
    schedule = lhkit.load_schedule(broken, name=f"schedules/{SCHEDULE.name}")
    trace = lhkit.trace(ROOT / "data" / "fc_relu.mlir", schedule)
    repair = trace.repairs(limit=1)[0]
    if repair.text != text:
        raise ValueError("the first repair is not the schedule as it is shipped")
    frames = (_failure(trace, broken), _death(trace), _measured(repair.title))
    drawn, x = [], 0.0
    for frame, width in zip(frames, WIDTHS, strict=True):
        paper = element(
            "rect", x=0.5, y=0.5, width=width - 11, height=HEIGHT - 1, rx=6, fill="panel", stroke="line"
        )
        drawn.append(element("g", paper, frame, transform=f"translate({x:.0f} 0)"))
        x += width
    label = (
        "A step that uses an invalidated handle; the step that consumed it; the repaired schedule beside NumPy."
    )
    return svg(x - 10, HEIGHT, *drawn, label=label)


def _text(x: float, y: float, words: str, size: float = SMALL, **look: object) -> str:
    return element("text", escaped(words), **{"x": x, "y": y, "font_size": size, "fill": "ink", **look})


def _head(number: int, words: str) -> str:
    sign = element("tspan", f"{number}", fill="faint"), element("tspan", escaped(words), dx=8, fill="ink")
    return element("text", *sign, x=PAD, y=26, font_size=14, font_weight="bold")


def _wrapped(words: str, x: float, y: float, columns: int, **look: object) -> str:
    lines = textwrap.wrap(words, columns)
    return "".join(_text(x, y + 16 * i, line, **look) for i, line in enumerate(lines))


def _failure(trace: Trace, text: str) -> str:
    """Return the frame with the lines that matter of a schedule, and what the failure says."""
    failed = trace.step_records[trace.outcome.failed_step or 0]
    handle = next(o.handle for o in failed.operands)
    death = next(
        (s, c) for s in trace.step_records for c in s.changes if c.handle == handle and c.state == "invalid"
    )
    steps = [trace.step_records[trace.handle(handle).defined_by], death[0], failed]
    y, drawn = 54.0, [_head(1, "A step fails")]
    for step in steps:
        line = step.source.line if step.source else 0
        code = _shortened(text.splitlines()[line - 1])
        is_last = step is failed
        drawn.append(_text(PAD, y, f"{line}", CODE, fill="dead" if is_last else "faint", font_family=MONO))
        for part in textwrap.wrap(code, 50, subsequent_indent="    "):
            drawn.append(_code(part, y, trace.handle(handle).name))
            y += 17
        y += 7
    why = str(trace.why()).splitlines()
    y += 8
    drawn.append(_text(PAD, y, why[0], 13, fill="dead", font_weight="bold"))
    uses = f"Step {failed.index} ({failed.op.removeprefix('transform.structured.')}) uses it. {_said(why)}"
    drawn.append(_wrapped(uses, PAD, y + 24, 56))
    return "".join(drawn)


def _shortened(code: str) -> str:
    """Return a line of a schedule without its types and the long part of its op's name."""
    return (
        re.sub(r" : \(?!transform.*$", "", code.strip())
        .replace("transform.structured.", "")
        .replace("transform.", "")
    )


def _code(line: str, y: float, handle: str) -> str:
    """Return a line of code with the handle marked wherever it stands."""
    parts = re.split(rf"({re.escape(handle)})(?![\w#])", line)
    looks: tuple[dict[str, object], ...] = ({"fill": "ink"}, {"fill": "dead", "font_weight": "bold"})
    spans = "".join(element("tspan", escaped(p), **looks[i % 2]) for i, p in enumerate(parts))
    return element("text", spans, x=PAD + 28, y=y, font_size=CODE, font_family=MONO, xml_space="preserve")


def _said(why: list[str]) -> str:
    """Return the advice that ends an explanation, before its repairs."""
    first = next((i for i, line in enumerate(why) if line.startswith("1. ")), len(why))
    return why[first - 1]


def _death(trace: Trace) -> str:
    """Return the frame with the lives of a few handles."""
    inner = timeline_svg(_few_handles(timeline_drawing(trace)), themed=False)
    width, height = (float(n) for n in re.search(r'viewBox="0 0 (\S+) (\S+)"', inner).groups())  # type: ignore[union-attr]
    room = (WIDTHS[1] - 2 * PAD, HEIGHT - 44)
    scale = min(room[0] / width, room[1] / height)
    at = f"translate({PAD:.0f} 38) scale({scale:.3f})"
    return _head(2, "The step that consumed its handle") + element("g", inner, transform=at)


def _few_handles(drawing: TimelineDrawing) -> TimelineDrawing:
    """Return a drawing with a few rows, and the columns in which they are made, consumed or die."""
    rows = [next(i for i, row in enumerate(drawing.rows) if row.name == name) for name in HANDLES]
    kept = {m.column for i in rows for m in drawing.rows[i].marks if m.kind != "read"}
    columns = {c: new for new, c in enumerate(sorted(kept))}
    return dataclasses.replace(
        drawing,
        columns=tuple(drawing.columns[c] for c in columns),
        rows=tuple(_with_columns(drawing.rows[i], columns) for i in rows),
        arcs=tuple(
            dataclasses.replace(a, column=columns[a.column], from_row=rows.index(a.from_row), to_rows=to)
            for a in drawing.arcs
            if a.from_row in rows and (to := tuple(rows.index(r) for r in a.to_rows if r in rows))
        ),
        groups=(),
        folds=(),
        overview=None,
        verdict="",
        elsewhere=0,
    )


def _with_columns(row: Row, columns: dict[int, int]) -> Row:
    last = max(columns)

    def first_after(column: int) -> int:
        return columns[next(c for c in columns if c >= min(column, last))]

    bars = [dataclasses.replace(b, first=first_after(b.first), last=first_after(b.last)) for b in row.bars]
    marks = [dataclasses.replace(m, column=columns[m.column]) for m in row.marks if m.column in columns]
    return dataclasses.replace(row, marks=tuple(marks), bars=tuple(bars))


def _measured(title: str) -> str:
    """Return the frame with the repair and the times of the repaired schedule and what it is compared with."""
    bench = json.loads(BENCH.read_text(encoding="utf-8"))
    drawn = [_head(3, "Repaired, checked and timed"), _wrapped(title, PAD, 52, 44)]
    anchor = next(e["median_ns"] for e in bench["entries"] if e["name"] == e["anchor"])
    entries = sorted((_by_speed(e, anchor) for e in bench["entries"]), key=lambda e: -e["median_ns"])
    low = math.floor(math.log10(min(e["percentiles_ns"]["p5"] for e in entries)) * 2) / 2
    high = math.ceil(math.log10(max(e["percentiles_ns"]["p95"] for e in entries)) * 2) / 2
    left, right, top = PAD + 4, WIDTHS[2] - 40, 96.0

    def place(ns: float) -> float:
        return left + (math.log10(ns) - low) / (high - low) * (right - left)

    bottom = top + ROW * len(entries)
    for power in range(math.ceil(low), math.floor(high) + 1):
        x = place(10**power)
        drawn.append(element("line", x1=x, x2=x, y1=top - 8, y2=bottom, stroke="line"))
        drawn.append(_text(x, bottom + 14, _time(10**power), 10.5, text_anchor="middle", fill="faint"))
    looks = entry_looks([e["name"] for e in entries])
    for i, entry in enumerate(entries):
        drawn.append(_dot(entry, top + 20 + ROW * i, place, looks[entry["name"]].color))
    cpu = next(iter(bench["environments"].values()))
    said = f"× the speed of {entries[0]['anchor']}; one core of {_cpu(cpu)}; line: 5 to 95 % of samples"
    return "".join(drawn) + _wrapped(said, PAD, bottom + 32, 38, fill="faint")


def _by_speed(entry: dict[str, Any], anchor_ns: float) -> dict[str, Any]:
    """Return an entry whose times follow from its speed beside the anchor, with their spread."""
    median = anchor_ns / entry["ratio_to_anchor"][1]
    spread = {name: ns * median / entry["median_ns"] for name, ns in entry["percentiles_ns"].items()}
    return {**entry, "median_ns": median, "percentiles_ns": spread}


def _dot(entry: dict[str, Any], y: float, place: Any, color: str) -> str:
    spread, x = entry["percentiles_ns"], place(entry["median_ns"])
    name = NAMES.get(entry["name"], entry["name"])
    ratio = entry["ratio_to_anchor"][1]
    beside = "" if name == entry["anchor"] else f" · {ratio:.2g}×"
    return "".join(
        (
            element(
                "line",
                x1=place(spread["p5"]),
                x2=place(spread["p95"]),
                y1=y,
                y2=y,
                style=f"stroke: {figure_paint(color)}",
                stroke_width=2,
            ),
            element("circle", cx=x, cy=y, r=5, style=f"fill: {figure_paint(color)}"),
            _text(PAD + 4, y - 9, f"{name}: {_time(entry['median_ns'])}{beside}"),
        )
    )


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def _cpu(environment: dict[str, Any]) -> str:
    wide = next(n for n in ("avx512f", "avx2", "sse4_2") if n in environment["vector extensions"].split())
    return f"{environment['cpu']} ({wide.removesuffix('f').upper()})"
