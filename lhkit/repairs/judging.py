"""Whether a schedule with a repair does better: the step passes, and no other does worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.repairs.repair_context import Situation, op_at
from lhkit.text.script import Script
from lhkit.traces.record.handle_history import states_before

_SILENT = ("zero-match", "no-effect")
_DIED = ("crashed", "timeout", "out-of-memory", "cancelled")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a trace says of a repair.

    Attributes:
        helps: Whether the step passes and no other does worse.
        passes_whole: Whether the whole schedule passes.
        doubt: What speaks against it all the same, from 0.
    """

    helps: bool
    passes_whole: bool = False
    doubt: int = 0


def judge_repair(
    situation: Situation,
    repaired: Trace,
    script: Script,
    ops: Mapping[int, int],
    *,
    same_payload: bool,
) -> Verdict:
    """Return the verdict on a repair.

    Args:
        situation: The step that was to be repaired, with the trace before.
        repaired: The trace with the repair.
        script: The text with the repair.
        ops: For the start of each op of the old text, where it starts in the new one.
        same_payload: Whether the step should act on as many payload ops as its handles had while they lived.
    """
    if repaired.outcome.status in _DIED:
        return Verdict(False)
    old, new = _executions(situation.trace, situation.script), _executions(repaired, script)
    own = new.get(ops.get(situation.op.start, -1), [])
    if not _passes(own, old[situation.op.start]):
        return Verdict(False)
    known = set(ops.values())
    if any(_is_silent(s) for start, steps in new.items() if start not in known for s in steps):
        return Verdict(False)
    for start, steps in old.items():
        if start in ops and _passed(new.get(ops[start], [])) < _passed(steps):
            return Verdict(False)
    doubt = _new_silence(old, new, ops)
    if same_payload:
        doubt += _other_counts(situation, repaired, own[0])
    return Verdict(True, repaired.outcome.status == "ok", doubt)


def _executions(trace: Trace, script: Script) -> dict[int, list[TraceStep]]:
    found: dict[int, list[TraceStep]] = {}
    for step in trace.step_records:
        op = op_at(script, step)
        if op is not None:
            found.setdefault(op.start, []).append(step)
    return found


def _passes(now: list[TraceStep], before: list[TraceStep]) -> bool:
    """Return True if a step passes that did not, and finds or does something."""
    if not now or any(_is_silent(s) for s in now):
        return False
    was_silent = any(_is_silent(s) for s in before)
    return _passed(now) >= _passed(before) if was_silent else _passed(now) > _passed(before)


def _passed(steps: list[TraceStep]) -> int:
    return sum(s.status == "ok" for s in steps)


def _is_silent(step: TraceStep) -> bool:
    return any(w.kind == "zero-match" or w.message.startswith("does nothing") for w in step.warnings)


def _new_silence(
    old: Mapping[int, list[TraceStep]], new: Mapping[int, list[TraceStep]], ops: Mapping[int, int]
) -> int:
    """Return how many more steps than before find nothing or do nothing."""
    doubt = 0
    for start, at in ops.items():
        was = sum(w.kind in _SILENT for s in old.get(start, ()) for w in s.warnings)
        doubt += max(0, sum(w.kind in _SILENT for s in new.get(at, ()) for w in s.warnings) - was)
    return doubt


def _other_counts(situation: Situation, repaired: Trace, own: TraceStep) -> int:
    """Return how much speaks against a repair because the step acts on more or fewer ops than it was to."""
    doubt = 0
    before = states_before(repaired, own.index)
    for was, operand in zip(_expected(situation), own.operands, strict=False):
        change = before.get(operand.handle)
        if was and change is not None and change.state == "live" and len(change.payload) != was:
            doubt += 2
    return doubt


def _expected(situation: Situation) -> list[int]:
    """Return how many ops each operand of the step had while it was live, or how many came of them."""
    counts = []
    alive = Counter(op.id for op in situation.history.alive_before(situation.step.index))
    for operand in situation.step.operands:
        last = situation.last_live(operand.handle)
        was = [r for r in last.payload if isinstance(r, str)] if last else []
        names = {situation.trace.op(r).name for r in was}
        came = [o for o in situation.history.descendants(was) if alive[o.id] and o.name in names]
        counts.append(max(len(was), len(came)))
    return counts
