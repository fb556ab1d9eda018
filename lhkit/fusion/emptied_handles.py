"""The cause that a handle has lost its op before a step fuses: folded into a pack, or a loop that ran once."""

from __future__ import annotations

from lhkit.fusion.fusion_case import FusionCase
from lhkit.fusion.fusion_queries import Finding, way_between
from lhkit.model.trace_record import Trace, TraceStep
from lhkit.traces.record.placed_values import LOOPS

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
