"""Machine code of the hot loops, each instruction linked to the payload op and the schedule's step behind it.

The lowering is run pass by pass once more, in which ops keep their identity: an instruction has a line of the
last text, that line an op, and the op one of the payload as the schedule left it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lhkit.kernels.code_listing import CodeListing
from lhkit.kernels.kernel import Kernel
from lhkit.model.errors import usage_error
from lhkit.model.instructions import CodeSamples
from lhkit.model.trace_record import PayloadOp, Trace
from lhkit.pipelines.pass_run import run_passes
from lhkit.traces.record.placed_ops import PlacedOps, place_ops
from lhkit.worker.client import Worker

NOT_SAMPLED = CodeSamples(reason="no time was sampled")


@dataclass(frozen=True, slots=True)
class CodeLink:
    """Where an instruction comes from.

    Attributes:
        op: Id of the op in the trace.
        around: Ids of the ops around it, innermost first.
        line: Its line in the payload after the last step, from 1.
        text: That line.
        step: The step that made the op, -1 if it was given.
    """

    op: str
    around: tuple[str, ...]
    line: int
    text: str
    step: int


@dataclass(frozen=True, slots=True)
class LinkedCode:
    """A listing with a link for each of its IR lines that has one.

    Attributes:
        links: By line of ``listing.ir``, from 1.
        samples: Where calls spend their time.
    """

    listing: CodeListing
    links: dict[int, CodeLink] = field(default_factory=dict)
    samples: CodeSamples = NOT_SAMPLED


def link_code(kernel: Kernel, trace: Trace, *, worker: Worker | None = None) -> LinkedCode:
    """Compile a kernel, and link its hot loops to the trace of its schedule.

    Args:
        kernel: The kernel of the trace's payload and schedule.
        trace: The trace, with its last payload.
        worker: Another worker than the session's.

    Raises:
        UsageError: The trace has no payload, or is of another schedule.
        LhkitError: It cannot be compiled or lowered.
    """
    if kernel.schedule is None or not trace.snapshots:
        raise usage_error("the trace has no payload to link the code to")
    listing = kernel.listing()
    passes = run_passes(
        kernel.origin, "lower", schedule=kernel.schedule, function=kernel.function.name, worker=worker
    )
    record, last = passes.record, trace.snapshots[-1].step
    if record is None or not listing.ir:
        return LinkedCode(listing)
    steps = [s.step for s in record.snapshots]
    same = [s for s in steps if _same(record.snapshot_text(s), listing.ir)]
    if not same or not _same(record.snapshot_text(-1), trace.snapshot_text(last)):
        return LinkedCode(listing)
    lowered, given, own = place_ops(record, same[-1]), place_ops(record, -1), place_ops(trace, last)
    if lowered is None or given is None or own is None:
        return LinkedCode(listing)
    lines = {number for loop in listing.loops for number in loop.lines}
    found = {number: _link(trace, record, (lowered, given, own), number) for number in sorted(lines)}
    return LinkedCode(listing, {number: link for number, link in found.items() if link is not None})


def _same(left: str | None, right: str | None) -> bool:
    return left is not None and right is not None and left.strip() == right.strip()


def _link(
    trace: Trace, record: Trace, places: tuple[PlacedOps, PlacedOps, PlacedOps], number: int
) -> CodeLink | None:
    """Return the link of a line; of an op that the lowering made from nothing that of the op around it."""
    lowered, given, own = places
    at = lowered.ir.owners[number - 1] if number <= len(lowered.ir.owners) else -1
    while at >= 0:
        op = lowered.ids[at]
        origin = _given(record, record.op(op)) if op is not None else None
        if origin is not None and origin.id in given.ids:
            line = given.ir.ops[given.ids.index(origin.id)].lines[0]
            place = own.ir.owners[line]
            if place >= 0 and (known := own.ids[place]) is not None:
                return CodeLink(known, _around(own, place), line + 1, own.ir.lines[line], trace.op(known).born)
        at = lowered.ir.ops[at].parent
    return None


def _given(record: Trace, op: PayloadOp) -> PayloadOp | None:
    """Return an op of the payload as it was given to the passes that an op was made from."""
    waiting, seen = [op], {op.id}
    while waiting:
        op = waiting.pop(0)
        if op.born < 0:
            return op
        new = [each for each in op.derived_from if each not in seen]
        seen.update(new)
        waiting += map(record.op, new)
    return None


def _around(placed: PlacedOps, at: int) -> tuple[str, ...]:
    """Return the ids of the ops around an op, innermost first."""
    found = []
    while (at := placed.ir.ops[at].parent) >= 0:
        if (known := placed.ids[at]) is not None:
            found.append(known)
    return tuple(found)
