"""Whether an edit repairs a step: its trace compared with that of the text as it was."""

from __future__ import annotations

from collections.abc import Mapping

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.repairs.repair_context import RepairContext, op_at
from lhkit.repairs.silent_mistakes import warnings_left
from lhkit.text.script import Script
from lhkit.traces.record.handle_history import PayloadHistory, states_before
from lhkit.traces.warnings.lost_work import FUSE

_SILENT = ("zero-match", "no-effect")
_HANDLES = ("invalidated-handle", "repeated-payload")
_DIED = ("crashed", "timeout", "out-of-memory", "cancelled")


def judge_repair(
    context: RepairContext, repaired: Trace, script: Script, ops: Mapping[int, int], *, same_payload: bool
) -> int | None:
    """Return the doubt that a repair's trace adds, None unless the step passes and no other does worse.

    ``ops`` maps the start of each op of the old text to its start in the new one; with ``same_payload`` the
    step should act on as many payload ops as its handles had while they were live.
    """
    if repaired.outcome.status in _DIED:
        return None
    old, new = _executions(context.trace, context.script), _executions(repaired, script)
    own = new.get(ops.get(context.op.start, -1), [])
    added = [step for start in new.keys() - set(ops.values()) for step in new[start]]
    if not _passes(own, old[context.op.start]) or any(map(_is_silent, added)):
        return None
    if _fusions_of_what_is_inside(repaired) > _fusions_of_what_is_inside(context.trace):
        return None
    if _does_worse(old, new, ops):
        return None
    more_silent = [_silences(new.get(at, [])) - _silences(old.get(start, [])) for start, at in ops.items()]
    doubt = sum(more for more in more_silent if more > 0)
    return doubt + _other_counts(context, repaired, own[0]) if same_payload else doubt


def fails_otherwise(context: RepairContext, repaired: Trace, script: Script, ops: Mapping[int, int]) -> bool:
    """Return whether the step that was given an invalidated handle now has live ones and fails all the same."""
    outcome = repaired.outcome
    if outcome.status != "failed" or outcome.kind in _HANDLES or outcome.failed_step is None:
        return False
    step = repaired.step_records[outcome.failed_step]
    op, before = op_at(script, step), states_before(repaired, step.index)
    is_same = op is not None and ops.get(context.op.start) == op.start
    return is_same and all(o.handle in before and before[o.handle].state == "live" for o in step.operands)


def _does_worse(
    old: Mapping[int, list[TraceStep]], new: Mapping[int, list[TraceStep]], ops: Mapping[int, int]
) -> bool:
    """Return whether a step passes fewer times, one that had nothing to act on and those behind it left out."""
    failing = [at for at, now in ops.items() if any(s.status == "failed" for s in new.get(now, []))]
    is_new = bool(failing) and all(all(map(_is_idle, old.get(at, []))) for at in failing)
    for at, steps in old.items():
        now = new.get(ops.get(at, -1), [])
        is_behind = is_new and (at in failing or all(s.status == "not-run" for s in now))
        if at in ops and _passed(now) < _passed(steps) and not is_behind:
            return True
    return False


def _is_idle(step: TraceStep) -> bool:
    return _is_silent(step) or any(w.kind == "no-effect" for w in step.warnings)


def judge_silent(before: Trace, repaired: Trace) -> int | None:
    """Return 0 if a repair leaves fewer warnings, none of them of a new kind, and all steps pass; else None."""
    old, new = warnings_left(before), warnings_left(repaired)
    is_better = new.total() < old.total() and not new.keys() - old.keys()
    return 0 if repaired.outcome.status == "ok" and is_better else None


def _fusions_of_what_is_inside(trace: Trace) -> int:
    """Return how many steps fuse an op into a loop that has the op already."""
    history, found = PayloadHistory(trace), 0
    for step in trace.step_records:
        if step.op == FUSE and step.status == "ok":
            loops = set(history.ops_given(step, 1))
            found += any(history.lies_in(trace.op(o), loops) for o in history.ops_given(step, 0))
    return found


def _executions(trace: Trace, script: Script) -> dict[int, list[TraceStep]]:
    found: dict[int, list[TraceStep]] = {}
    for step in trace.step_records:
        op = op_at(script, step)
        if op is not None:
            found.setdefault(op.start, []).append(step)
    return found


def _passes(now: list[TraceStep], before: list[TraceStep]) -> bool:
    if not now or any(_is_silent(s) for s in now):
        return False
    was_silent = any(_is_silent(s) for s in before)
    return _passed(now) >= _passed(before) if was_silent else _passed(now) > _passed(before)


def _passed(steps: list[TraceStep]) -> int:
    return sum(s.status == "ok" for s in steps)


def _is_silent(step: TraceStep) -> bool:
    return any(
        w.kind in ("zero-match", "tile-size-zero") or w.message.startswith("does nothing")
        for w in step.warnings
    )


def _silences(steps: list[TraceStep]) -> int:
    return sum(w.kind in _SILENT for s in steps for w in s.warnings)


def _other_counts(context: RepairContext, repaired: Trace, own: TraceStep) -> int:
    """Return the doubt because the step acts on more or fewer ops than its operands had while live."""
    before = states_before(repaired, own.index)
    alive = {op.id for op in context.history.alive_before(context.step.index)}
    doubt = 0
    for intended, operand in zip(context.step.operands, own.operands, strict=False):
        last = context.last_live(intended.handle)
        was = [r for r in last.payload if isinstance(r, str)] if last else []
        names = {context.trace.op(r).name for r in was}
        came = [o for o in context.history.descendants(was) if o.id in alive and o.name in names]
        wanted, change = max(len(was), len(came)), before.get(operand.handle)
        if wanted and change is not None and change.state == "live" and len(change.payload) != wanted:
            doubt += 2
    return doubt
