"""Footprints of kernels: the estimate from the buffers, and the allocations counted in a call."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.draw.figures import figure_png, figure_svg
from lhkit.draw.svg import escaped, with_theme
from lhkit.draw.tables import Table, format_bytes, format_range, table_html, table_text
from lhkit.memory.live_buffers import draw_live_buffers, find_peak
from lhkit.model.memory_footprint import BufferSite, Footprint
from lhkit.model.schedule import Schedule
from lhkit.model.signature import ArrayType, Function

Array = NDArray[Any]


def footprint_name(function: Function, schedule: Schedule | None) -> str:
    """Return the name of a kernel for footprints."""
    return f"@{function.name}, {PurePath(schedule.source).name if schedule else 'unscheduled'}"


def deciding_values(types: Sequence[ArrayType], arrays: Sequence[Array]) -> list[tuple[int, ...] | int]:
    """Return the part of arguments that decides memory: shapes of arrays, values of integers."""
    values: list[tuple[int, ...] | int] = []
    for type_, array in zip(types, arrays, strict=True):
        if type_.kind != "scalar":
            values.append(tuple(array.shape))
        elif np.asarray(array).dtype.kind in "biu":
            values.append(int(array))
    return values


# The memory of a kernel as a table, as sentences, and as a MIME bundle.


_WORDS = {
    "allocations": "heap buffers",
    "total_bytes": "bytes of all",
    "peak_bytes": "most bytes at once",
    "left_bytes": "bytes returned",
}
_MOST_SITES = 12


def footprint_table(footprint: Footprint) -> Table:
    """Return predicted beside counted numbers, then those that are predicted only."""
    rows = [
        (_WORDS[what], format_range(expected, _exact), "" if counted is None else _exact(counted))
        for what, expected, counted in footprint.pairs
    ]
    predicted = footprint.predicted
    rows += [
        ("copies", format_range(predicted.copies, _exact), ""),
        ("bytes copied", format_range(predicted.copied_bytes, _exact), ""),
        ("bytes on the stack", format_range(predicted.stack_bytes, _exact), ""),
    ]
    if footprint.counted is None:
        return Table(("", "predicted"), tuple(row[:2] for row in rows))
    return Table(("", "predicted", "counted"), tuple(rows))


def _exact(number: int) -> str:
    return f"{number:,}"


def footprint_sentences(footprint: Footprint) -> tuple[str, ...]:
    """Return whether the numbers agree, and what lives at the peak."""
    predicted, counted = footprint.predicted, footprint.counted
    if counted is None:
        said = "Nothing was run, so nothing is counted."
    elif not footprint.agrees:
        said = "What was counted is not what was predicted: please report this kernel."
    elif footprint.is_exact:
        said = "What was counted is what was predicted."
    else:
        said = "What was counted is within the bounds; they are bounds because control depends on data."
    at, most = find_peak(predicted.points)
    if not most:
        return (said,)
    origin = predicted.points[at].origin
    where = f"{origin.label}{f' ({PurePath(origin.file).name}:{origin.line})' if origin.line else ''}"
    there = [s for s in predicted.sites if s.first <= at < s.last and not s.on_stack]
    return said, f"The peak is reached at {where}; then {_listed(there)}."


def _listed(sites: list[BufferSite]) -> str:
    shown = [f"{s.name} ({format_range(s.size_bytes, format_bytes)})" for s in sites[:_MOST_SITES]]
    more = len(sites) - len(shown)
    verb = "lives" if len(sites) == 1 else "live"
    return f"{', '.join(shown)}{f' and {more} more' if more else ''} {verb}"


def footprint_text(footprint: Footprint) -> str:
    """Return table and sentences as text."""
    lines = "\n".join(footprint_sentences(footprint))
    return f"{footprint.kernel}\n{table_text(footprint_table(footprint))}\n{lines}"


def footprint_bundle(footprint: Footprint) -> dict[str, Any]:
    """Return a footprint as table, sentences and drawing: HTML, PNG, and text."""
    figure = draw_live_buffers(footprint)
    sentences = "".join(f"<p>{escaped(s)}</p>" for s in footprint_sentences(footprint))
    return {
        "text/html": f"{table_html(footprint_table(footprint))}\n{sentences}\n{with_theme(figure_svg(figure))}",
        "image/png": base64.b64encode(figure_png(figure)).decode(),
        "text/plain": footprint_text(footprint),
    }
