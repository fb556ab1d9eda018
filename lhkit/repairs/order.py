"""Candidates for fusions in the wrong order: a producer can only follow what uses it into a loop."""

from __future__ import annotations

from collections.abc import Iterator

from lhkit.repairs.candidate import Candidate, candidate
from lhkit.repairs.repair_context import Located, Situation, type_span
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement

_FUSE = "transform.structured.fuse_into_containing_op"


def candidates_for_order(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates for a fusion whose consumers are not in the loop yet."""
    if situation.op.name != _FUSE or len(situation.op.operands) != 2:
        return
    _, _, block, i = situation.script.home_of(situation.op)
    for later in block.ops[i + 1 :]:
        if later.name == _FUSE and len(later.operands) == 2:
            yield from _exchanged(situation, later)
    yield from _consumer_first(situation)


def _exchanged(situation: Situation, later: OpSyntax) -> Iterator[Candidate]:
    """Yield the candidate that exchanges what two steps fuse, with the names of the results."""
    script, op = situation.script, situation.op
    mine, its = op.operands[0], later.operands[0]
    edits = [Replacement(mine.start, mine.end, its.text), Replacement(its.start, its.end, mine.text)]
    here, there = type_span(script, op, mine), type_span(script, later, its)
    if here is None or there is None or not op.results or not later.results:
        return
    edits += [Replacement(*here, script.text[slice(*there)]), Replacement(*there, script.text[slice(*here)])]
    one, two = op.results[0], later.results[0]
    if (one.count, two.count) == (1, 1):
        edits += [Replacement(one.start, one.end, two.text), Replacement(two.start, two.end, one.text)]
    defined = [d for d in script.handles.definitions if d.op.start == op.start and d.name == one]
    if any(use.start < later.start for d in defined for use, _ in d.uses):
        return
    title = f"Fuse {its.text} before {mine.text}: what uses a result has to be in the loop first"
    yield candidate("order", title, script.text, edits)


def _consumer_first(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates that fuse another op, which may use the first one, before it."""
    container = next((h for h in situation.live_in_sight() if h.value == situation.op.operands[1].text), None)
    if container is None:
        return
    for other in situation.live_in_sight():
        if other.value == situation.op.operands[0].text or not _may_be_fused(other):
            continue
        fused, loop = (
            situation.fresh(f"{other.value.partition('#')[0]}_fused"),
            situation.fresh(container.value),
        )
        types = f"({other.type}, {container.type}) -> ({other.type}, {container.type})"
        line = f"{fused}, {loop} = {_FUSE} {other.value} into {container.value}\n  : {types}"
        uses = situation.uses(container)
        replaced = situation.replaced_uses(uses, loop, container.type, container.type)
        title = f"Fuse {other.value} first: what uses a result has to be in the loop before it"
        edits = [situation.inserted(line), *(replaced or [])]
        yield candidate("order", title, situation.script.text, edits, 1)


def _may_be_fused(handle: Located) -> bool:
    return bool(handle.ops) and all(name.startswith("linalg.") for name in handle.payload)
