"""Tables as text, HTML and CSV; units of times and sizes."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lhkit.draw.svg import escaped
from lhkit.model.measurement import Comparison, Measurement
from lhkit.model.memory_footprint import Range
from lhkit.model.sample_statistics import (
    ORDER_RULE,
    describe_order,
    judge_run,
    rank_entries,
    summarize,
    values_ns,
)


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of text; the first column is left-aligned."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def comparison_table(comparison: Comparison) -> Table:
    """Return the summary of a comparison: time, spread, rank, speed, throughput, compile time, check.

    Throughput is given if it can be counted, with its share of the core's limit measured in the same run. Times
    and throughput follow from the speed, as in the bars.
    """
    header = ("", "time", "± MAD", "rank", f"speed vs {comparison.anchor}", "95 % interval")
    throughput = [("GFLOP/s (of FMA peak)", "gflops", "of_peak"), ("GB/s (of copy)", "gbytes", "of_copy")]
    summaries = {s.name: s for s in summarize(comparison, by_ratio=True)}
    shown = [t for t in throughput if any(getattr(s, t[1]) for s in summaries.values())]
    places = {r.name: r.text for r in rank_entries(comparison)}
    rows = []
    for measurement in comparison.measurements:
        s = summaries[measurement.name]
        is_anchor = measurement.name == comparison.anchor
        interval = "" if is_anchor else f"{s.speed.low:.3g} – {s.speed.high:.3g}"
        rows.append(
            (
                measurement.name,
                format_ns(s.median_ns),
                format_ns(s.mad_ns),
                places[measurement.name],
                f"{s.speed.middle:.3g}×",
                interval,
                *(_throughput(getattr(s, rate), getattr(s, share)) for _, rate, share in shown),
                format_ns(measurement.compile_ns) if measurement.compile_ns is not None else "",
                _check(measurement),
            )
        )
    return Table((*header, *(title for title, _, _ in shown), "compile", "check"), tuple(rows))


def _throughput(rate: float, share: float | None) -> str:
    return f"{rate:.3g}" if share is None else f"{rate:.3g} ({format_share(share)})"


def format_share(share: float) -> str:
    """Return a share in per cent, with a digit after the point below ten."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def comparison_lines(comparison: Comparison) -> list[str]:
    """Return the lines under the table: order, noise, limits, and how it was measured."""
    lines = [f"order: {describe_order(rank_entries(comparison))}   ({ORDER_RULE})"]
    lines.append(f"noise: {judge_run(comparison).text}")
    if (limits := comparison.limits) is not None:
        fma = f"FMA {limits.fma_gflops:.4g} GFLOP/s in float32, {limits.fma_f64_gflops:.4g} in float64"
        lines.append(f"limits of the core: {fma}; copy {limits.copy_gbytes:.3g} GB/s (read and written)")
        if limits.read_gbytes:
            lines[-1] += f"; reading {limits.read_gbytes:.3g} GB/s"
    anchor = comparison.anchor
    lines.append(f"speed: the median of the rounds' ratios to {anchor}; time: the median of {anchor} / speed")
    where = f"core {comparison.core}" if comparison.core is not None else "no fixed core"
    state = f"{comparison.cache} caches, buffers at odd multiples of {comparison.alignment_bytes} bytes"
    lines.append(f"how: {comparison.rounds} rounds, {where}, {state}")
    if by_python := [m.name for m in comparison.measurements if m.timed_by == "Python"]:
        lines.append(f"     {', '.join(by_python)}: called from Python, which is part of the time")
    return lines


def _check(measurement: Measurement) -> str:
    verdict = measurement.verification
    if verdict is None:
        return "is the reference"
    return f"right (max error {verdict.max_abs_error:.1e})" if verdict.ok else f"WRONG: {verdict.difference}"


def format_bytes(size: int) -> str:
    """Format a size with three digits and a binary unit."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.3g} {unit}" if size < 1000 << shift else f"{size >> shift} {unit}"
    return f"{size} B"


def format_operations(count: int) -> str:
    """Format a number of operations with three digits and a unit."""
    for unit, size in (("GFLOP", 1e9), ("MFLOP", 1e6), ("kFLOP", 1e3)):
        if count >= 0.1 * size:
            return f"{count / size:.3g} {unit}"
    return f"{count} FLOP"


def format_range(number: Range, form: Callable[[int], str]) -> str:
    """Format an exact number, or its bounds."""
    if number.is_exact:
        return form(number.low)
    return (
        f"at least {form(number.low)}" if number.high is None else f"{form(number.low)} to {form(number.high)}"
    )


def format_ns(time_ns: float) -> str:
    """Format a time with three digits and a unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if time_ns >= size:
            return f"{time_ns / size:.3g} {unit}"
    return f"{time_ns:.3g} ns"


def table_text(table: Table) -> str:
    """Return a table as aligned text."""
    columns = list(zip(table.header, *table.rows, strict=True))
    widths = [max(_width(cell) for cell in column) for column in columns]
    lines = [_text_row(table.header, widths), "  ".join("─" * w for w in widths)]
    lines += [_text_row(row, widths) for row in table.rows]
    return "\n".join(line.rstrip() for line in lines)


def _text_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell + " " * (w - _width(cell)) if i == 0 else " " * (w - _width(cell)) + cell
        for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def table_html(table: Table) -> str:
    """Return a table as HTML, its text escaped; cells carry their heads for where rows are stacked."""
    head = "".join(f'<th scope="col">{escaped(c)}</th>' for c in table.header)
    heads = [f' data-head="{escaped(c)}"' if c else "" for c in table.header]
    rows = (
        "".join(f"<td{h}>{_unbroken(escaped(c))}</td>" for h, c in zip(heads, row, strict=True))
        for row in table.rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table_tag = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table_tag}</div>'


# A number and what it is of: a unit, per cent.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[µnm]?s|[KMG]?i?B|%)(?!\w))")


def _unbroken(text: str) -> str:
    """Return a text that is not wrapped between a number and its unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def samples_csv(comparison: Comparison) -> str:
    """Return every sample of a comparison as CSV: entry, round, time_ns, and the entry's facts on each line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = ["entry", "round", "time_ns", "compile_ns", "max_abs_error", "tolerance", "ok", "knobs"]
    writer.writerow(["payload", *header])
    for m in comparison.measurements:
        v = m.verification
        facts = [m.compile_ns, *((v.max_abs_error, v.tolerance, v.ok) if v else (None, None, None))]
        knobs = " ".join(f"{name}={value}" for name, value in m.knobs)
        for (number, _), value in zip(m.samples_ns, values_ns(m), strict=True):
            writer.writerow([comparison.payload, m.name, number, round(value, 1), *facts, knobs])
    return out.getvalue()
