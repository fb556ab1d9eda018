"""Passes as text, as a table, as op counts over the passes, and the diff of one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from lhkit.draw.svg import element, escaped, fitted, svg
from lhkit.draw.tables import Table, format_ns
from lhkit.model.errors import usage_error
from lhkit.model.pass_trace import Counts, PassStep, PassTrace, folded
from lhkit.model.printable import counted, one_line
from lhkit.model.span import Span
from lhkit.traces.diff.line_diff import IrDiff
from lhkit.traces.diff.op_diff import ir_diff, text_diff
from lhkit.traces.record.placed_ops import place_ops, source_place

WIDTH, HEIGHT, LEFT, RIGHT = 1200, 126, 44, 150
_NARROW = 376  # fits a column of 400 pixels
_FOOT, _ROOMY, _ROW = 26, 24, 14
_LINES = ("live", "consumed", "made", "dead", "moved", "invalid")
# Each its own: told apart by more than colour.
_DASHES = (None, "7 3", "2 2", "9 3 2 3", "14 4", "9 3 2 3 2 3")
_MOST_ROWS = 200
_MOST_DIALECTS = 12
_MOST_NAMES = 3
_MOST_OF_A_NAME = 60


@dataclass(frozen=True, slots=True)
class _Chart:
    """The sizes of a chart of counts: where its axes end, and where its key begins."""

    right: float
    scale: float  # the distance of two passes
    bottom: float
    unit: float  # of the natural logarithm of one more than a count
    key: tuple[float, float]


def scale_of(trace: PassTrace, right: float = WIDTH - RIGHT) -> float:
    """Return the distance of two passes in the drawing of op counts, whose axes end at ``right``."""
    return (right - LEFT) / max(len(trace.steps) - 1, 1)


def counts_html(trace: PassTrace) -> str:
    """Return `counts_svg` for a view: as it is, and once more for a narrow column and for paper."""
    wide = element("div", counts_svg(trace), class_="lh-wide lh-long")
    return wide + element("div", counts_svg(trace, narrow=True), class_="lh-narrow", hidden="")


def counts_svg(trace: PassTrace, *, themed: bool = True, narrow: bool = False) -> str:
    """Return the ops by dialect over the passes, on a logarithmic scale; the rarest dialects share a line."""
    lines = _counted(trace)
    most = max((n for line in lines.values() for n in line), default=0)
    width, right = (_NARROW, _NARROW - 16.0) if narrow else (WIDTH, float(WIDTH - RIGHT))
    bottom, unit = HEIGHT - _FOOT, (HEIGHT - _FOOT - 10) / math.log1p(most or 1)
    key = (LEFT, HEIGHT + _ROW + 4) if narrow else (right + 12, _ROW)
    chart = _Chart(right, scale_of(trace, right), bottom, unit, key)
    drawn = _axes(trace, most, chart)
    for number, ((name, line), role) in enumerate(zip(lines.items(), _LINES, strict=False)):
        heights = [bottom - unit * math.log1p(n) for n in line]
        # Level around the pass after which they were counted, the last one too.
        middles = [LEFT + chart.scale * (i + 0.5) for i in range(len(line) - 1)]
        d = f"M{LEFT} {heights[0]:.1f}" if line else ""
        d += "".join(f"H{x:.1f}V{y:.1f}" for x, y in zip(middles, heights[1:], strict=True))
        d += f"H{right:.1f}"
        look = {"stroke": role, "stroke_width": 1.6, "stroke_dasharray": _DASHES[number]}
        drawn.append(element("path", d=d, fill="none", **look))
        x, y = key[0], key[1] + _ROW * number
        drawn.append(element("line", x1=x, x2=x + 18, y1=y - 4, y2=y - 4, **look))
        label = fitted(f"{name}, up to {max(line):,}", width - x - 28, 11, mono=False)
        drawn.append(element("text", escaped(label), x=x + 24, y=y, font_size=11, fill="ink"))
    cursor = {"class_": "cursor", "x1": -9, "x2": -9, "y1": 4, "y2": bottom, "stroke": "selected"}
    label = f"ops by dialect over {counted(len(trace.steps), 'run')} of passes, up to {most:,}, logarithmic"
    height = HEIGHT + (_ROW * (len(lines) + 1) + 4 if narrow else 0)
    return svg(width, height, *drawn, element("line", **cursor), label=label, themed=themed)


def _counted(trace: PassTrace) -> dict[str, list[int]]:
    totals: Counter[str] = Counter()
    for step in trace.steps:
        totals.update(dict(step.ops))
    names = [name for name, _ in totals.most_common()]
    shown = names if len(names) <= len(_LINES) else names[: len(_LINES) - 1]
    rows = [dict(step.ops) for step in trace.steps]
    lines = {n: [r.get(n, 0) for r in rows] for n in shown}
    if len(names) > len(shown):
        lines["others"] = [sum(r.values()) - sum(r.get(n, 0) for n in shown) for r in rows]
    return lines


def _axes(trace: PassTrace, most: int, chart: _Chart) -> list[str]:
    """Return the counts at the left, and the passes below: with their names where there is room."""
    small: dict[str, object] = {"font_size": 10.5, "fill": "faint"}
    drawn, scale, bottom, unit = [], chart.scale, chart.bottom, chart.unit
    tops = [
        n for n in (0, 1, 3, 10, 30, 100, 1000, 10_000) if math.log1p(n) * unit <= math.log1p(most) * unit - 12
    ]
    for count in (*tops, most) if most else (0,):
        y = bottom - unit * math.log1p(count)
        drawn.append(element("line", x1=LEFT, x2=chart.right, y1=y, y2=y, stroke="line"))
        drawn.append(element("text", f"{count:,}", x=LEFT - 6, y=y + 4, text_anchor="end", **small))
    every = max(1, math.ceil(_ROOMY / scale))
    for i, step in enumerate(trace.steps):
        name = (
            # The first and the last lie beside their place, and not around it as their neighbours do.
            fitted(f"{step.index} {step.name}", scale * 2 / 3, 10.5, mono=False)
            if scale > 5 * _ROOMY
            else str(step.index)
        )
        anchor = "start" if i == 0 else "end" if i == len(trace.steps) - 1 else "middle"
        if i % every == 0:
            drawn.append(
                element("text", escaped(name), x=LEFT + scale * i, y=bottom + 16, text_anchor=anchor, **small)
            )
    x, y = chart.key
    y = bottom + 16 if y < bottom else y - _ROW
    drawn.append(element("text", "ops, logarithmic", x=x, y=y, **small))
    return drawn


def counts_table(trace: PassTrace) -> Table:
    """Return the ops by dialect after each pass that had an effect."""
    names = list(dict.fromkeys(name for step in trace.steps for name, _ in step.ops))[:_MOST_DIALECTS]
    rows = [
        (f"{s.index} {s.name}", *(str(dict(s.ops).get(n, 0)) for n in names)) for s in trace.effective_steps
    ]
    return Table(("after", *names), tuple(rows))


def step_diff(trace: PassTrace, step: int, against: int | None = None) -> IrDiff:
    """Return the diff of a pass; by identity where that is known; the arguments are `PassTrace.diff`'s."""
    if not 0 <= step < len(trace.steps) or not -1 <= (-1 if against is None else against) < len(trace.steps):
        raise usage_error(
            f"there is no pass {step}, or none {against}", f"Passes: 0 to {len(trace.steps) - 1}."
        )
    shown = trace.steps[step]
    title = f"after pass {step}, {shown.name}" + (f" on {shown.scope}" if shown.scope else "")
    if against is not None:
        title += f", against pass {against}" if against >= 0 else ", against the first text"
    if trace.record is not None and trace.record.snapshots:
        found = ir_diff(trace.record, step, against)
        return IrDiff(title, found.lines, found.note)
    first = trace.steps[0].before
    old = shown.before if against is None else first if against < 0 else trace.steps[against].after
    new = shown.after if shown.after is not None else shown.before
    if new is None:
        raise usage_error(f"pass {step} left no text")
    return text_diff(trace.text(new if old is None else old), trace.text(new), title)


def line_origins(trace: PassTrace, text: str) -> tuple[Span | None, ...]:
    """Return the place in the payload of the op of each line; see `PassTrace.origins`."""
    record = trace.record
    for snapshot in record.snapshots if record is not None else ():
        if record is None or (record.snapshot_text(snapshot.step) or "").strip() != text.strip():
            continue
        if (placed := place_ops(record, snapshot.step)) is not None:
            ids = [placed.id_at(line) for line in range(len(placed.ir.lines))]
            return tuple(None if op is None else source_place(record, record.op(op)) for op in ids)
    raise usage_error(
        "this is not one of the texts that the passes left", "Ops are known in runs, not in logs."
    )


def summary(trace: PassTrace) -> str:
    """Return in a line what ran on what, and how much of it had an effect."""
    source = PurePath(trace.source).name
    what = f"{one_line(trace.pipeline, 100)} on {source}" if trace.pipeline else source
    took = sum(s.time_ns or 0 for s in trace.steps)
    time = f", {format_ns(took)}" if took else ""
    ran = f"{counted(len(trace.steps), 'run')} of a pass"
    return f"{what}: {ran}, {len(trace.effective_steps)} with effect{time}"


def passes_table(trace: PassTrace, most: int = _MOST_ROWS) -> Table:
    """Return one row per pass with effect; those without in a row share one."""
    rows: list[tuple[str, ...]] = []
    for group in folded(trace.steps)[:most]:
        step = group[0]
        if step.has_effect:
            name = "  " * step.depth + one_line(step.name, _MOST_OF_A_NAME)
            time = format_ns(step.time_ns) if step.time_ns is not None else ""
            status = "" if step.status == "ok" else step.status
            scope = one_line(step.scope, _MOST_OF_A_NAME)
            rows.append((str(step.index), name, scope, time, status or changes(step)))
        else:
            numbers = f"{step.index}–{group[-1].index}" if len(group) > 1 else str(step.index)
            rows.append((numbers, f"⋯ {len(group)} without effect", "", "", ""))
    left = len(folded(trace.steps)) - most
    if left > 0:
        rows.append(("", f"… {left} more rows; save a page to see all", "", "", ""))
    return Table(("", "pass", "on", "time", "ops"), tuple(rows))


def changes(step: PassStep) -> str:
    """Return the ops that a pass made and those that are gone."""
    said = [*_named(step.made, "+"), *_named(step.gone, "−")]
    return "  ".join(said) if said or step.after is None else "~"


def _named(counts: Counts, sign: str) -> Sequence[str]:
    said = [f"{sign}{count} {name}" for name, count in counts[:_MOST_NAMES]]
    rest = sum(count for _, count in counts[_MOST_NAMES:])
    return [*said, f"{sign}{rest} others"] if rest else said


def passes_text(trace: PassTrace) -> str:
    """Return the summary and the table as text."""
    table = passes_table(trace)
    widths = [max(len(row[c]) for row in (table.header, *table.rows)) for c in range(len(table.header))]
    lines = (
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
        for row in (table.header, *table.rows)
    )
    return "\n".join([summary(trace), *(line.rstrip() for line in lines)])
