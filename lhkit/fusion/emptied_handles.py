"""Causes in what the handle of a step that fuses holds: nothing any more, or also ops of other functions."""

from __future__ import annotations

from lhkit.fusion.fusion_case import FusionCase
from lhkit.fusion.fusion_queries import Finding, attempts, way_between
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.placed_ops import op_in_words
from lhkit.traces.record.placed_values import LOOPS, around, users_of

MATCH = "transform.structured.match"
_PACKS = ("linalg.pack", "linalg.unpack", "tensor.pack", "tensor.unpack")


def find_emptied(case: FusionCase, step: TraceStep, handle: str) -> Finding | None:
    """Return the step that took away what an operand pointed to: one of the two, an op between, a loop."""
    found = _emptied(case.trace, step, handle)
    if found is None:
        return None
    taker, ops = found
    way = [case.first.ids[n] for n in way_between(case, case.first) or ()]
    concerned = {op for kin in case.kin.values() for op in kin} | set(way)
    names = [case.trace.op(op).name for op in ops]
    head = f"Step {step.index} ({step.op}) is given an empty handle"
    by = f"step {taker.index} ({taker.op})"
    if loops := [op for op in ops if case.trace.op(op).name in LOOPS]:
        maker = case.trace.step_records[case.trace.op(loops[0]).born]
        said = next((w.message for w in maker.warnings if w.kind.startswith("tile-size-")), "")
        sentence = f"{head}: {by} took away the {names[0]} that step {maker.index} made"
        if said:
            return Finding("indivisible-sizes", f"{sentence}: {said}", maker.index, "makes it")
        return Finding("wrong-order", sentence, taker.index, "takes it away")
    if concerned.isdisjoint(ops):
        return None
    created = {case.trace.op(o).name for o in taker.payload_delta.created}
    if "linalg.transpose" in names and (packs := created.intersection(_PACKS)):
        folds = f"{head}: {by} folds the transpose that it pointed to into the {min(packs)}"
        return Finding("folded-transpose", folds, taker.index, "folds it")
    return Finding(
        "wrong-order", f"{head}: {by} made something else of the {names[0]}", taker.index, "replaces it"
    )


def _emptied(trace: Trace, step: TraceStep, handle: str) -> tuple[TraceStep, list[str]] | None:
    """Return the step after which a handle, or the one that it was made from, is empty, and the ops it had."""
    seen = set[str]()
    while handle not in seen:
        seen.add(handle)
        held: list[str] = []
        for each in trace.steps_by_end():
            if each.index == step.index:
                break
            for change in (c for c in each.changes if c.handle == handle):
                if change.state == "empty" and held:
                    return each, held
                held = [r for r in change.payload if isinstance(r, str)]
        made = trace.handle(handle).defined_by
        if made < 0 or not trace.step_records[made].operands:
            return None
        handle = trace.step_records[made].operands[0].handle
    return None


def find_crowded(case: FusionCase) -> Finding | None:
    """Return that a step failed which was given other ops beside the producer, that its loop does not read."""
    for step in attempts(case):
        given = case.history.ops_given(step, 0)
        if step.status == "ok" or len(given) < 2:
            continue
        placed = case.before(step.index)
        numbers = [placed.ids.index(op) for op in given if op in placed.ids]
        loops = {placed.ids.index(op) for op in case.history.ops_given(step, 1) if op in placed.ids}
        unread = [
            n for n in numbers if not any(loops.intersection(around(placed, u)) for u in users_of(placed, n))
        ]
        others = [i for n in unread if (i := placed.ids[n]) not in case.kin[case.producer] and i is not None]
        if not others:
            continue
        found = _match_of(case, given)
        by = f" that step {found.index} ({found.op}) finds" if found else ""
        sentence = (
            f"Step {step.index} ({step.op}) is given the {len(given)} ops{by}, and its loop does not read"
        )
        where = f"{sentence} the {op_in_words(case.trace, others[0])}"
        return Finding("outside-the-loop", where, (found or step).index, "finds more than the loop reads")
    return None


def _match_of(case: FusionCase, ops: list[str]) -> TraceStep | None:
    """Return the last step that found just these ops."""
    found = [
        s
        for s in case.trace.step_records
        if s.op == MATCH and any(list(c.payload) == ops for c in s.changes if c.handle in s.results)
    ]
    return found[-1] if found else None
