"""A payload against another, op by op: ops are the same by their identity in the trace, not by their text.

So an op whose results were numbered anew has not changed, one whose operand comes from another op has, and one
that stands elsewhere has moved.
"""

from __future__ import annotations

import functools
import itertools

from lhkit.model.errors import usage_error
from lhkit.model.trace_record import Trace
from lhkit.traces.diff.ir_lines import IrDiff, IrLine
from lhkit.traces.diff.line_diff import KnownChanges, diff_lines
from lhkit.traces.diff.structural_match import match_structure
from lhkit.traces.explain.op_remarks import remarks_at
from lhkit.traces.record.placed_ops import SameTrace, named_as_copies, order_at, place_ops
from lhkit.traces.record.printed_ir import read_printed

OF_A_COPY = "This step works on a copy of a part of the payload, and is compared to what it was made from."
BY_STRUCTURE = "Ops were matched by the structure of the texts: what became of each is not known."


def ir_diff(trace: Trace, step: int, against: int | None = None) -> IrDiff:
    """Return the payload after a step against another snapshot of the trace.

    Args:
        trace: The trace.
        step: Index of the step, -1 for the payload as given. One that left no payload, since it failed or never
            ran, shows the payload as it stood then.
        against: Index of the step after which the old payload stood; None for right before the step.

    Raises:
        UsageError: There is no such step, or the trace has no snapshots.
    """
    # Whoever goes back and forth between steps, or draws one again, gets the same value at once.
    return _ir_diff(SameTrace(trace), step, against)


@functools.lru_cache(maxsize=8)
def _ir_diff(same: SameTrace, step: int, against: int | None) -> IrDiff:
    trace = same.trace
    new_step = _snapshot_at(trace, step)
    old_step = _step_before(trace, step) if against is None else _snapshot_at(trace, against)
    old_text, new_text = trace.snapshot_text(old_step) or "", trace.snapshot_text(new_step) or ""
    new = place_ops(trace, new_step)
    is_same = old_text == new_text and order_at(trace, old_step) == order_at(trace, new_step)
    old = new if is_same else place_ops(trace, old_step)
    note = ""
    what = _title(trace, step, new_step, old_step if against is not None else None)
    if old is None or new is None:
        return text_diff(old_text, new_text, what)
    if new.ids and old.ids and new.ids[0] not in old.ids and old.ids[0] not in new.ids:
        old, note = named_as_copies(trace, old, new), OF_A_COPY
    known = _changes_between(trace, old_step, new_step)
    return IrDiff(what, diff_lines(old, new, known, remarks_at(trace, step)), note)


def text_diff(old: str, new: str, title: str = "") -> IrDiff:
    """Return a payload against another of which no trace is known; the note says so.

    Args:
        old: The old payload, as the compiler prints it.
        new: The new one.
        title: What is compared to what.
    """
    lines = diff_lines(*match_structure(old, new), KnownChanges(), None)
    return IrDiff(title, lines, BY_STRUCTURE)


def ir_at(trace: Trace, step: int) -> IrDiff:
    """Return the payload after a step as a diff in which nothing changed.

    Raises:
        UsageError: There is no such step, or the trace has no snapshots.
    """
    return ir_diff(trace, step, against=step)


def plain_lines(text: str) -> IrDiff:
    """Return a text as a diff in which nothing changed and no op is known."""
    return IrDiff("", tuple(IrLine("", n, n, each) for n, each in enumerate(read_printed(text).lines, 1)))


def _snapshot_at(trace: Trace, step: int) -> int:
    """Return the step whose snapshot shows the payload after a step: its own, or the last one before it."""
    if not trace.snapshots or not -1 <= step < max(len(trace.step_records), 1):
        known = f"Steps: -1 to {len(trace.step_records) - 1}." if trace.snapshots else ""
        raise usage_error(f"the trace has no payload after step {step}", known)
    steps = [s.step for s in trace.snapshots]
    if step in steps:
        return step
    ends = {s.index: i for i, s in enumerate(trace.steps_by_end())}
    return max((s for s in steps if ends.get(s, -1) < ends[step]), key=lambda s: ends.get(s, -1))


def _step_before(trace: Trace, step: int) -> int:
    """Return the step whose snapshot shows the payload when a step began: nothing inside it had run.

    Alternatives work on copies. Before the first step on a copy there is what it was made from; what another
    alternative made of its own copy is passed over.
    """
    if step < 0:
        return -1
    earlier = [s.step for s in itertools.takewhile(lambda s: s.step < step, trace.snapshots)]
    root = (order_at(trace, step) or ("",))[0]
    for each in reversed(earlier):
        if not root or root in (order_at(trace, each) or (root,)):
            return each
    parent = trace.step_records[step].parent
    return earlier[-1] if parent is None else _step_before(trace, parent)


def _title(trace: Trace, step: int, shown: int, against: int | None) -> str:
    what = _after(trace, step)
    if shown != step:
        what += f", which left none: the payload as it stood then ({_after(trace, shown)})"
    return what if against is None or against == shown else f"{what}, against {_after(trace, against)}"


def _after(trace: Trace, step: int) -> str:
    return "the payload as given" if step < 0 else f"after step {step}, {trace.step_records[step].op}"


def _changes_between(trace: Trace, old: int, new: int) -> KnownChanges:
    """Return what happened between two snapshots, whichever is the earlier."""
    ends = [-1, *(s.index for s in trace.steps_by_end())]
    first, last = sorted((ends.index(old), ends.index(new)))
    deltas = [trace.step_records[i].payload_delta for i in ends[first + 1 : last + 1]]
    changed = frozenset(i for d in deltas for i in d.changed)
    return KnownChanges(changed, frozenset(i for d in deltas for i in d.moved))
