"""The repairs that are proposed for a trace, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lhkit.model.trace_record import Trace, TraceStep
from lhkit.repairs.dead_handles import propose_live_handles
from lhkit.repairs.empty_matches import propose_for_empty_match
from lhkit.repairs.fusion_order import propose_fusion_order
from lhkit.repairs.repair_context import Candidate, RepairContext, distinct, op_at
from lhkit.repairs.repeated_handles import propose_deduplication
from lhkit.repairs.wrong_counts import propose_counts
from lhkit.repairs.wrong_kinds import propose_kinds
from lhkit.text.script import Script

Proposal = Callable[[RepairContext], Iterator[Candidate]]

# To add a repair, write a module with a function that yields candidates, and list the function here.
_FOR_HANDLES: tuple[Proposal, ...] = (propose_live_handles, propose_deduplication)
# For failures that are not about invalid or repeated handles.
_FOR_ARGUMENTS: tuple[Proposal, ...] = (propose_counts, propose_kinds, propose_fusion_order)


def candidates_for(context: RepairContext) -> list[Candidate]:
    """Return the candidates for a step, in the order in which they are tried."""
    if any(w.kind == "zero-match" for w in context.step.warnings):
        return distinct(propose_for_empty_match(context))
    proposals = _FOR_HANDLES
    if context.trace.outcome.kind not in ("invalidated-handle", "repeated-payload"):
        proposals += _FOR_ARGUMENTS
    return distinct(candidate for propose in proposals for candidate in propose(context))


def contexts(trace: Trace, script: Script) -> Iterator[RepairContext]:
    """Yield the steps to repair: the failed one after its empty matches, or all empty matches."""
    failed = trace.outcome.failed_step
    steps: list[TraceStep] = []
    if failed is not None and trace.outcome.status == "failed":
        steps = [*_empty_origins(trace, trace.step_records[failed]), trace.step_records[failed]]
    elif trace.outcome.status == "ok":
        steps = [s for s in trace.step_records if any(w.kind == "zero-match" for w in s.warnings)]
    for step in steps:
        op = op_at(script, step)
        if op is not None:
            yield RepairContext(trace, script, step, op)


def _empty_origins(trace: Trace, step: TraceStep) -> list[TraceStep]:
    """Return the matches that left operands of a step empty, the last first."""
    by_result = {r: s for s in trace.step_records for r in s.results}
    found: dict[int, TraceStep] = {}
    waiting = [o.handle for o in step.operands]
    seen: set[str] = set()
    while waiting:
        handle = waiting.pop()
        maker = by_result.get(handle)
        if handle in seen or maker is None or maker.index >= step.index:
            continue
        seen.add(handle)
        if any(w.kind == "zero-match" for w in maker.warnings):
            found[maker.index] = maker
        elif any(c.handle == handle and c.state == "empty" for c in maker.changes):
            waiting += [o.handle for o in maker.operands]
    return [found[i] for i in sorted(found, reverse=True)]
