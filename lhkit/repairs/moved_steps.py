"""Steps moved to an earlier place of their block, with what they depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lhkit.model.errors import UsageError
from lhkit.repairs.repair_context import Candidate, Located, Situation, candidate, type_span
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script, cut, lines_of, put_before
from lhkit.text.step_arguments import set_argument


def moved_before(script: Script, op: OpSyntax, target: OpSyntax) -> list[Replacement] | None:
    """Return the replacements that move a step, with the steps that it depends on, before an earlier one.

    Returns:
        The replacements; None where the step is not behind the other in the same block, or depends on it.
    """
    block = _between(script, target, op)
    if block is None:
        return None
    needed = {op.start}
    for each in reversed(block[:-1]):
        defined = [d for d in script.handles.definitions if d.op.start == each.start and not d.is_argument]
        users = [u.start for d in defined for u, _ in d.uses]
        if any(o.start <= at < o.end for o in block if o.start in needed for at in users):
            if each is block[0]:
                return None
            needed.add(each.start)
    ops = [o for o in block if o.start in needed]
    lines = "\n".join(lines_of(script.text, o, o) for o in ops)
    return [put_before(script.text, target, lines), *(cut(script.text, o, o) for o in ops)]


def _between(script: Script, first: OpSyntax, last: OpSyntax) -> list[OpSyntax] | None:
    """Return the ops of a block from one to another, None if they are not in one block in that order."""
    _, _, block, i = script.home_of(first)
    if last not in block.ops[i + 1 :]:
        return None
    return list(block.ops[i : block.ops.index(last) + 1])


# Candidates for fusions in the wrong order: a producer can only follow what uses it into a loop.


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


# Candidates for a step that consumes a handle which lists an op twice.


_MERGE, _PARENT = "transform.merge_handles", "transform.get_parent_op"


def candidates_for_repetition(situation: Situation, handle: str) -> Iterator[Candidate]:
    """Yield candidates for a handle that lists an op twice: say ``deduplicate`` where it is made, or after."""
    found = situation.locate(handle)
    if found is None:
        return
    script, op = situation.script, found.definition.op
    if not found.definition.is_argument and op.name == _MERGE:
        yield from _unused_instead(situation, op)
        behind = op.name_start + len(_MERGE)
        title = f"Let step {found.record.defined_by} deduplicate what it merges"
        yield candidate("deduplicate", title, script.text, [Replacement(behind, behind, " deduplicate")])
    if not found.definition.is_argument and op.name == _PARENT:
        title = f"Let step {found.record.defined_by} list every parent once"
        try:
            edited = set_argument(script, script.number_of(op), "deduplicate", "")
        except UsageError:  # written in a form that the edit does not know
            edited = None
        if edited is not None:
            yield Candidate("deduplicate", title, edited)
    new = situation.fresh(found.value)
    line = f"{new} = {_MERGE} deduplicate {found.value} : {found.type}"
    replaced = situation.replaced_uses(situation.uses(found), new, found.type, found.type) or []
    title = f"Take the repetition out of {found.value} before step {situation.step.index}"
    yield candidate("deduplicate", title, script.text, [situation.inserted(line), *replaced])


def _unused_instead(situation: Situation, merge: OpSyntax) -> Iterator[Candidate]:
    """Yield candidates that merge a handle which nothing reads in the place of one that is merged twice."""
    text = situation.script.text
    counts = Counter(use.text for use in merge.operands)
    unused = [h for h in situation.live_in_sight(merge) if situation.is_unused(h) and h.ops]
    for use in merge.operands:
        for other in unused if counts[use.text] > 1 else ():
            title = f"Merge {other.value}, which nothing reads, for one of the two {use.text}"
            yield candidate("other-handle", title, text, [Replacement(use.start, use.end, other.value)])
