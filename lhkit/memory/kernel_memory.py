"""The memory of kernels: what their buffers foretell, and what they ask for when they run."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lhkit.draw.figures import figure_png, figure_svg
from lhkit.draw.svg import escaped
from lhkit.draw.tables import Table, format_bytes, format_range, table_html, table_text
from lhkit.kernels.argument_marshalling import describe_recipe, pack_arguments
from lhkit.memory.footprint_estimate import predict_footprint
from lhkit.memory.live_buffers import draw_live_buffers
from lhkit.model.codec import from_json
from lhkit.model.knob import KnobValue
from lhkit.model.memory_footprint import BufferSite, Footprint, HeapCount, MemoryProgram, Range
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.signature import ArrayType, Function
from lhkit.worker.client import Worker, shared_worker
from lhkit.worker.requests import UntypedAnswer
from lhkit.worker.shared_arrays import Packing

Array = NDArray[Any]


def scheduled_footprint(
    payload: Payload,
    schedule: Schedule | None = None,
    knobs: Mapping[str, KnobValue] | None = None,
    *,
    function: str | None = None,
    worker: Worker | None = None,
) -> Footprint:
    """Return the memory of a payload as its schedule leaves it, which has to have buffers by then.

    Nothing is compiled and nothing runs: this is for schedules that bufferize, and for what their steps do to
    buffers. Buffers that nothing frees yet live to the end. What depends on the extents of arguments is
    bounded.

    Args:
        payload: What is scheduled.
        schedule: What to apply to it first.
        knobs: Values for knobs of the schedule, over those it has.
        function: Which function; needed where there are several.
        worker: Another worker than the session's.

    Raises:
        UsageError: There are tensors left, or there is no such function or knob.
        ScheduleError: The schedule does not apply.
    """
    if schedule is not None and knobs:
        schedule = schedule.with_knobs(knobs)
    chosen = payload.function(function)
    worker = worker or shared_worker()
    fields, body = describe_recipe(payload, schedule, chosen.name, 0, worker)
    answer = worker.request("memory", {**fields, "stage": "scheduled"}, body)
    program, _ = read_answer(answer)
    return Footprint(footprint_name(chosen, schedule), predict_footprint(program, ()))


def footprint_name(function: Function, schedule: Schedule | None) -> str:
    """Return what a footprint is of, for people."""
    return f"@{function.name}, {PurePath(schedule.source).name if schedule else 'unscheduled'}"


def call_fields(function: Function, arrays: Sequence[Array], packing: Packing) -> dict[str, Any]:
    """Return the fields of a request that runs a function on copies of arrays and keeps no result."""
    copies = [array.copy() for array in arrays]
    sent = pack_arguments(packing, copies, function.arguments)
    results = [{"shape": list(t.shape), "dtype": t.dtype} for t in function.results]
    return {"arguments": [descriptor for descriptor, _ in sent], "results": results}


def read_answer(answer: UntypedAnswer) -> tuple[MemoryProgram, HeapCount | None]:
    """Return what the worker found out about a kernel."""
    counted = answer.header["counted"]
    program = from_json(MemoryProgram, json.loads(answer.body))
    return program, None if counted is None else from_json(HeapCount, counted)


def deciding_values(types: Sequence[ArrayType], arrays: Sequence[Array]) -> list[tuple[int, ...] | int]:
    """Return what of the arguments decides about memory: shapes of arrays, values of integers."""
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
    """Return what was foretold and what was counted, side by side; then what is foretold only."""
    rows = [
        (_WORDS[what], format_range(foretold, _exact), "" if counted is None else _exact(counted))
        for what, foretold, counted in footprint.pairs
    ]
    predicted = footprint.predicted
    more: tuple[tuple[str, Range], ...] = (
        ("copies", predicted.copies),
        ("bytes copied", predicted.copied_bytes),
        ("bytes on the stack", predicted.stack_bytes),
    )
    rows += [(what, format_range(foretold, _exact), "") for what, foretold in more]
    if footprint.counted is None:
        return Table(("", "foretold"), tuple(row[:2] for row in rows))
    return Table(("", "foretold", "counted"), tuple(rows))


def _exact(number: int) -> str:
    return f"{number:,}"


def footprint_sentences(footprint: Footprint) -> tuple[str, ...]:
    """Return whether the numbers agree, and what lives at the peak."""
    predicted, counted = footprint.predicted, footprint.counted
    if counted is None:
        said = "Nothing was run, so nothing is counted."
    elif not footprint.agrees:
        said = "What was counted is not what was foretold: please report this kernel."
    elif footprint.is_exact:
        said = "What was counted is what was foretold."
    else:
        said = "What was counted is within the bounds; they are bounds because control depends on data."
    live = [p.live_bytes for p in predicted.points]
    most = max((r.low if r.high is None else r.high for r in live), default=0)
    if not most:
        return (said,)
    at = next(i for i, r in enumerate(live) if most in (r.low, r.high))
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
        "text/html": f"{table_html(footprint_table(footprint))}\n{sentences}\n{figure_svg(figure)}",
        "image/png": base64.b64encode(figure_png(figure)).decode(),
        "text/plain": footprint_text(footprint),
    }
