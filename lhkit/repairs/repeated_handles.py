"""Repairs of a step that consumes a handle which lists an op twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from lhkit.repairs.repair_context import Candidate, RepairContext, candidate, edit_candidate
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement
from lhkit.text.step_arguments import set_argument
from lhkit.traces.explain.handle_explanation import repeated

_MERGE, _PARENT = "transform.merge_handles", "transform.get_parent_op"


def propose_deduplication(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that deduplicate an operand, where it is defined or before the step."""
    if context.trace.outcome.kind != "repeated-payload":
        return
    for operand in context.step.operands:
        if repeated(context.before.get(operand.handle)):
            yield from _deduplicated(context, operand.handle)


def _deduplicated(context: RepairContext, handle: str) -> Iterator[Candidate]:
    found = context.locate(handle)
    if found is None:
        return
    script, op = context.script, found.definition.op
    if not found.definition.is_argument and op.name == _MERGE:
        yield from _unused_instead(context, op)
        behind = op.name_start + len(_MERGE)
        title = f"Let step {found.record.defined_by} deduplicate what it merges"
        yield candidate("deduplicate", title, script, [Replacement(behind, behind, " deduplicate")])
    if not found.definition.is_argument and op.name == _PARENT:
        title = f"Let step {found.record.defined_by} list every parent once"
        deduplicate = partial(set_argument, script, script.number_of(op), "deduplicate", "")
        yield from edit_candidate("deduplicate", title, deduplicate)
    new = context.fresh(found.value)
    line = f"{new} = {_MERGE} deduplicate {found.value} : {found.type}"
    replaced = context.renamed_uses(context.uses(found), new)
    title = f"Take the repetition out of {found.value} before step {context.step.index}"
    yield candidate("deduplicate", title, script, [context.inserted(line), *replaced])


def _unused_instead(context: RepairContext, merge: OpSyntax) -> Iterator[Candidate]:
    """Yield candidates that merge an unused handle in place of one that is merged twice."""
    counts = Counter(use.text for use in merge.operands)
    unused = [h for h in context.live_in_sight(merge) if context.is_unused(h) and h.ops]
    for use in merge.operands:
        for other in unused if counts[use.text] > 1 else ():
            title = f"Merge {other.value}, which nothing reads, for one of the two {use.text}"
            yield candidate(
                "other-handle", title, context.script, [Replacement(use.start, use.end, other.value)]
            )
