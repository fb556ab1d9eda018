"""Repairs of a fusion whose consumers are not in the loop yet: another order of fusions."""

from __future__ import annotations

from collections.abc import Iterator

from lhkit.repairs.repair_context import Candidate, RepairContext, candidate, type_span
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement

_FUSE = "transform.structured.fuse_into_containing_op"


def propose_fusion_order(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates for a fusion whose consumers are not in the loop yet."""
    if context.op.name != _FUSE or len(context.op.operands) != 2:
        return
    _, block, i = context.script.home_of(context.op)
    for later in block[i + 1 :]:
        if later.name == _FUSE and len(later.operands) == 2:
            yield from _exchanged(context, later)
    yield from _consumer_first(context)


def _exchanged(context: RepairContext, later: OpSyntax) -> Iterator[Candidate]:
    script, op = context.script, context.op
    mine, its = op.operands[0], later.operands[0]
    edits = [Replacement(mine.start, mine.end, its.text), Replacement(its.start, its.end, mine.text)]
    here, there = type_span(script, op, mine), type_span(script, later, its)
    if here is None or there is None or not op.results or not later.results:
        return
    edits += [Replacement(*here, script.text[slice(*there)]), Replacement(*there, script.text[slice(*here)])]
    one, two = op.results[0], later.results[0]
    if (one.count, two.count) == (1, 1):
        edits += [Replacement(one.start, one.end, two.text), Replacement(two.start, two.end, one.text)]
    if any(use.start < later.start for d in script.results_of(op) if d.name == one for use, _ in d.uses):
        return
    title = f"Fuse {its.text} before {mine.text}: what uses a result has to be in the loop first"
    yield candidate("order", title, script, edits)


def _consumer_first(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that first fuse another op, which may be the consumer."""
    container = next((h for h in context.live_in_sight() if h.value == context.op.operands[1].text), None)
    if container is None:
        return
    for other in context.live_in_sight():
        is_linalg = bool(other.ops) and all(name.startswith("linalg.") for name in other.payload)
        if other.value == context.op.operands[0].text or not is_linalg:
            continue
        fused, loop = context.fresh(other.value, "_fused"), context.fresh(container.value)
        types = f"({other.type}, {container.type}) -> ({other.type}, {container.type})"
        line = f"{fused}, {loop} = {_FUSE} {other.value} into {container.value}\n  : {types}"
        edits = [context.inserted(line), *context.renamed_uses(context.uses(container), loop)]
        title = f"Fuse {other.value} first: what uses a result has to be in the loop before it"
        yield candidate("order", title, context.script, edits, 1)
