"""Steps moved to an earlier place of their block, with what they depend on."""

from __future__ import annotations

from lhkit.text.layout import cut, lines_of, put_before
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script


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
