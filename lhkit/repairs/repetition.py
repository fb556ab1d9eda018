"""Candidates for a step that consumes a handle which lists an op twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lhkit.model.errors import UsageError
from lhkit.repairs.candidate import Candidate, candidate
from lhkit.repairs.repair_context import Situation
from lhkit.text.edits_arguments import set_argument
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement

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
