"""The warning about a producer that is fused through a slice with strides: other elements are computed.

Upstream's ``transform.structured.fuse_into_containing_op`` takes offsets and sizes of the slice that reads the
producer, and leaves its strides out: every second row becomes the first half of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.handle_history import PayloadHistory
from lhkit.traces.record.placed_ops import PlacedOps, op_in_words, place_ops
from lhkit.traces.record.placed_values import around, readers

STRIDED = "strided-fusion"
_FUSE = "transform.structured.fuse_into_containing_op"
_STRIDES = re.compile(r"\[([^\[\]]*)\] : ")


def find_strided_fusions(history: PayloadHistory) -> Iterator[tuple[int, str]]:
    """Yield the steps that fused a producer through a slice with strides."""
    trace = history.trace
    for step in trace.step_records:
        placed = _payload_before(trace, step) if step.op == _FUSE and step.status == "ok" else None
        if placed is None:
            continue
        loops = {placed.ids.index(o) for o in history.ops_given(step, 1) if o in placed.ids}
        for op in (o for o in history.ops_given(step, 0) if o in placed.ids):
            slices = readers(placed).get(placed.ids.index(op), ())
            if any(_has_strides(placed, n) and not loops.isdisjoint(around(placed, n)) for n in slices):
                what = op_in_words(trace, op)
                yield (
                    step.index,
                    f"the {what} is read by a slice with strides, which the step leaves out of account:"
                    " it computes other elements, and the numbers are wrong",
                )


def has_wrong_numbers(trace: Trace) -> bool:
    """Return whether a step of a trace is known to give wrong numbers."""
    return any(w.kind == STRIDED for s in trace.step_records for w in s.warnings)


def _payload_before(trace: Trace, step: TraceStep) -> PlacedOps | None:
    ended = {s.index: n for n, s in enumerate(trace.steps_by_end())}
    earlier = [s.step for s in trace.snapshots if ended.get(s.step, -1) < ended[step.index]]
    return place_ops(trace, earlier[-1]) if earlier else None


def _has_strides(placed: PlacedOps, number: int) -> bool:
    op = placed.ir.ops[number]
    found = _STRIDES.search(op.shapes[0]) if op.name == "tensor.extract_slice" else None
    return found is not None and any(size.strip() not in ("1", "") for size in found[1].split(","))
