"""What flows where in a payload: the worker parses its text, and the trace says which op is which."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Sequence

from lhkit.load.loader import describe_sources
from lhkit.model.codec import from_json
from lhkit.model.errors import usage_error
from lhkit.model.flow_graph import FlowGraph
from lhkit.model.payload import Payload
from lhkit.model.payload_outline import OutlinedOp, PayloadOutline
from lhkit.model.trace_record import Trace
from lhkit.traces.graph.payload_graph import MOST_OPS, Quantity, payload_flow
from lhkit.traces.record.placed_ops import order_at
from lhkit.traces.record.step_work import work_of_step
from lhkit.worker.client import Worker
from lhkit.worker.workers import shared_worker

_MOST_OUTLINES = 32


def payload_flow_of(
    shown: Trace | Payload,
    step: int | None = None,
    *,
    quantity: Quantity | None = None,
    unfolded: Collection[str] = (),
    most_ops: int = MOST_OPS,
    worker: Worker | None = None,
) -> FlowGraph:
    """Return the dataflow of a payload, or of the payload of a trace with what a step did to it.

    Args:
        shown: A payload, or a trace; one that was read from JSON will do.
        step: Index of the step, -1 for the payload as given; the last that left a payload if not given.
        quantity: A number of each op, as `lhkit.traces.graph.payload_graph.payload_flow` takes it.
        unfolded: Ids of ops that are opened in any case.
        most_ops: How many ops are shown before the others fold.
        worker: Another worker than the session's.

    Raises:
        UsageError: The trace has no payload after that step.
        PayloadError: The text does not parse alone.
    """
    if isinstance(shown, Payload):
        outline = payload_outline(shown, worker=worker)
        return payload_flow(
            outline, title=shown.source, quantity=quantity, unfolded=unfolded, most_ops=most_ops
        )
    if step is None:
        step = shown.snapshots[-1].step if shown.snapshots else -1
    outline = outline_after(shown, step, worker=worker)
    done = work_of_step(shown, step)
    before = None
    if done.delta.erased and done.before is not None:
        before = outline_after(shown, done.before, worker=worker)
    return payload_flow(
        outline,
        title=f"{shown.payload.source} after step {step}",
        delta=done.delta,
        before=before,
        quantity=quantity,
        unfolded=unfolded,
        most_ops=most_ops,
    )


def payload_outline(payload: Payload, *, worker: Worker | None = None) -> PayloadOutline:
    """Return the ops of a payload and what flows between them; its ops have no ids.

    Raises:
        PayloadError: It does not parse.
    """
    return _outline(payload.source, payload.text, worker)


def outline_after(trace: Trace, step: int | None = None, *, worker: Worker | None = None) -> PayloadOutline:
    """Return the ops of a trace's payload after a step, with their ids.

    Args:
        trace: The trace; one that was read from JSON will do.
        step: Index of the step, -1 for the payload as given; the last that left one if not given.
        worker: Another worker than the session's.

    Returns:
        The outline. Ops have no ids where the trace does not say in which order they are written, as those of a
        compiler binary do not.

    Raises:
        UsageError: The trace has no payload after that step.
        PayloadError: The text does not parse alone, as a piece that a schedule worked on aside may not.
    """
    if step is None:
        step = trace.snapshots[-1].step if trace.snapshots else -1
    text = trace.snapshot_text(step)
    if text is None:
        raise usage_error(
            f"the trace has no payload after step {step}",
            "Steps that failed or never ran left none; step=-1 is the payload as given.",
        )
    outline = _outline(f"{trace.payload.source} after step {step}", text, worker)
    ids = order_at(trace, step)
    return outline if ids is None else _with_ids(outline, ids, trace)


def _outline(name: str, text: str, worker: Worker | None) -> PayloadOutline:
    return _asked(name, text) if worker is None else _ask(name, text, worker)


@functools.lru_cache(maxsize=_MOST_OUTLINES)
def _asked(name: str, text: str) -> PayloadOutline:
    return _ask(name, text, shared_worker())


def _ask(name: str, text: str, worker: Worker) -> PayloadOutline:
    described, body = describe_sources([(name, text.encode())], role="payload")
    answer = worker.request("payload_outline", {"sources": described}, body)
    return from_json(PayloadOutline, answer.header["outline"])


def _with_ids(outline: PayloadOutline, ids: Sequence[str], trace: Trace) -> PayloadOutline:
    """Return an outline with the ids of its ops, as it was where they are not the ops that the trace names.

    A text of several modules, or of one function, is read into a module around it, which is nobody's op.
    """
    named = [o.name for o in outline.ops]
    for around in (0, 1):
        if named[around:] == [trace.op(i).name for i in ids]:
            known: list[OutlinedOp] = list(outline.ops[:around])
            known += [dataclasses.replace(o, id=i) for o, i in zip(outline.ops[around:], ids, strict=True)]
            return dataclasses.replace(outline, ops=tuple(known))
    return outline
