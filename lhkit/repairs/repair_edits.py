"""Edits of a step: moved with its dependences, or with other results."""

from __future__ import annotations

from lhkit.repairs.repair_context import type_span
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Definition, Replacement, Script, cut, lines_of, put_before
from lhkit.text.step_arguments import result_types_of


def moved_before(script: Script, op: OpSyntax, target: OpSyntax) -> list[Replacement] | None:
    """Return the edits that move a step, with its dependences, before an earlier one, or None."""
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


def definitions_of(script: Script, op: OpSyntax) -> list[Definition]:
    """Return the definitions of a step's results."""
    return [d for d in script.handles.definitions if d.op.start == op.start and not d.is_argument]


def is_used(script: Script, op: OpSyntax, value: str) -> bool:
    """Return True if something reads a result of a step, ``%loops#1`` for one of several."""
    return any(d.value_of(u) == value for d in definitions_of(script, op) for u, _ in d.uses)


def without_last_results(script: Script, op: OpSyntax, count: int) -> list[Replacement] | None:
    """Return the replacements that remove the last results; None if one is used or none would be left."""
    types, values = result_types_of(op), op.values
    if count == 0:
        return []
    if count >= len(values) or len(types) != len(values):
        return None
    if any(is_used(script, op, value) for value in values[-count:]):
        return None
    replacements = [Replacement(types[-count - 1][1], types[-1][1], "")]
    left = count
    names = list(op.results)
    while left and names[-1].count <= left:
        left -= names.pop().count
    end = names[-1].end
    if left:
        kept = names[-1].count - left
        is_numbered = any("#" in u.text for d in definitions_of(script, op) for u, _ in d.uses)
        written = names[-1].text if kept == 1 and not is_numbered else f"{names[-1].text}:{kept}"
        replacements.append(Replacement(names[-1].start, op.results[-1].end, written))
    elif op.results[-1].end > end:
        replacements.append(Replacement(end, op.results[-1].end, ""))
    return replacements


def with_more_results(script: Script, op: OpSyntax, names: list[str]) -> list[Replacement] | None:
    """Return the replacements that append results, of the type of the last one."""
    types = result_types_of(op)
    if len(types) != len(op.values) or not types:
        return None
    last = script.text[types[-1][0] : types[-1][1]]
    more = "".join(f", {last}" for _ in names)
    start, end = types[-1]
    edits = [Replacement(op.results[-1].end, op.results[-1].end, "".join(f", {n}" for n in names))]
    if len(types) == 1 and script.text[start - 1] != "(":
        return [*edits, Replacement(start, end, f"({last}{more})")]
    return [*edits, Replacement(end, end, more)]


def retyped_results(script: Script, op: OpSyntax, old: str, new: str) -> list[Replacement] | None:
    """Return the edits that change the type of results; None if a use does not spell it."""
    types = result_types_of(op)
    if len(types) != len(op.values):
        return None
    replacements = []
    for value, (start, end) in zip(op.values, types, strict=True):
        if script.text[start:end] != old:
            continue
        replacements.append(Replacement(start, end, new))
        for definition in definitions_of(script, op):
            for use, user in definition.uses:
                if definition.value_of(use) != value:
                    continue
                span = type_span(script, user, use)
                if span is None:
                    return None
                replacements.append(Replacement(*span, new))
    return replacements
