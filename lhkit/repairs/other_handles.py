"""Candidates that read another handle: one of a kind that the step takes, rather one that nothing reads yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lhkit.repairs.repair_context import Candidate, Located, Situation, candidate, type_span
from lhkit.text.handle_scopes import Definition
from lhkit.text.op_tree import OpSyntax
from lhkit.text.script import Replacement, Script
from lhkit.text.step_arguments import result_types_of

_MATCH, _SPLIT, _CAST = "transform.structured.match", "transform.split_handle", "transform.cast"
_ON_FUNCTIONS = (
    "transform.apply_patterns",
    "transform.apply_cse",
    "transform.apply_dce",
    "transform.apply_registered_pass",
    "transform.apply_conversion_patterns",
)
_TYPED = re.compile(r'to !transform\.op<"([^"]*)">\s*$')
_HOLDERS = ("scf.", "func.", "builtin.", "affine.")
_MOST_OTHERS = 6

Wanted = Callable[[tuple[str, ...]], bool]


def other_handles(situation: Situation, given: Located, position: int) -> Iterator[Candidate]:
    """Yield candidates that read another handle than an operand, if that one is not what the step takes.

    Results of the step that defines the operand come first, then handles that nothing reads.

    Args:
        situation: The step.
        given: The operand.
        position: Its number.
    """
    wanted = wanted_by(situation, position)
    if wanted is None or wanted(given.payload):
        return
    for other in _suitable(situation, given, wanted):
        is_sibling = other.record.defined_by == given.record.defined_by >= 0
        which = f"the other result of step {other.record.defined_by}" if is_sibling else "another handle"
        doubt = (0 if is_sibling else 1) if situation.is_unused(other) else (2 if is_sibling else 3)
        yield from _reading(situation, given, position, other, which, doubt)


def unused_handles(situation: Situation, dead: Located, position: int) -> Iterator[Candidate]:
    """Yield candidates that read a live handle which nothing reads, instead of a dead one.

    Args:
        situation: The step.
        dead: The operand.
        position: Its number.
    """
    wanted = wanted_by(situation, position)
    for other in _suitable(situation, dead, wanted or _anything):
        if situation.is_unused(other) and (wanted is not None or other.payload == dead.payload):
            doubt = 2 if wanted is None or wanted(dead.payload) else 1
            yield from _reading(situation, dead, position, other, "which nothing else reads", doubt)


def wanted_by(situation: Situation, position: int) -> Wanted | None:
    """Return whether payload ops of these names are what a step takes; None where that is not known."""
    op = situation.op.name
    if op.startswith("transform.loop.") and "forall" not in op:
        return lambda names: all(n in ("scf.for", "affine.for") for n in names)
    if op.startswith(_ON_FUNCTIONS):
        return lambda names: all(n in ("func.func", "builtin.module") for n in names)
    if op == "transform.apply_licm" or (op.endswith("fuse_into_containing_op") and position == 1):
        return lambda names: all(n.startswith(("scf.", "affine.")) for n in names)
    if op == _SPLIT:
        return lambda names: len(names) == len(situation.op.values)
    if op == _CAST:
        typed = _TYPED.search(situation.text_of(situation.op))
        return None if typed is None else lambda names: all(n == typed[1] for n in names)
    if op.startswith("transform.structured.") and op != _MATCH:
        return lambda names: not any(n.startswith(_HOLDERS) for n in names)
    return None


def _anything(_names: tuple[str, ...]) -> bool:
    return True


def _suitable(situation: Situation, given: Located, wanted: Wanted) -> list[Located]:
    """Return the live handles that suit a step: unused ones first, then the latest."""
    read = {situation.trace.handle(o.handle).name for o in situation.step.operands}
    others = [
        h
        for h in situation.live_in_sight()
        if h.ops and h.value not in read and wanted(h.payload) and not set(h.ops) & set(given.ops)
    ]
    siblings = [h for h in others if h.record.defined_by == given.record.defined_by >= 0]
    ordered = dict.fromkeys([*siblings, *others])
    return sorted(ordered, key=lambda h: not situation.is_unused(h))[:_MOST_OTHERS]


def _reading(
    situation: Situation, given: Located, position: int, other: Located, which: str, doubt: int
) -> Iterator[Candidate]:
    op = situation.op
    uses = [(u, o) for u, o in situation.uses(given) if o.start == op.start]
    if len(uses) > 1 and len(op.operands) == len(situation.step.operands):
        uses = [(op.operands[position], op)]  # the other operand is the same handle, and may be meant
    edits = situation.replaced_uses(uses, other.value, given.type, other.type)
    if edits:
        title = f"Use {other.value}, {which}, instead of {given.value}"
        yield candidate("other-handle", title, situation.script.text, edits, doubt)


# Results of a step written otherwise: fewer, more, of another type.


def definitions_of(script: Script, op: OpSyntax) -> list[Definition]:
    """Return the definitions of a step's results."""
    return [d for d in script.handles.definitions if d.op.start == op.start and not d.is_argument]


def is_used(script: Script, op: OpSyntax, value: str) -> bool:
    """Return True if something reads a result of a step, ``%loops#1`` for one of several."""
    return any(d.value_of(u) == value for d in definitions_of(script, op) for u, _ in d.uses)


def without_last_results(script: Script, op: OpSyntax, count: int) -> list[Replacement] | None:
    """Return the replacements that take the last results away; None if something reads them or none is left."""
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
    """Return the replacements that give a step more results at the end, of the type of the last one."""
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
    """Return the replacements that give results of one type another, where they are defined and used.

    Returns:
        The replacements; None where a use does not write the type by itself.
    """
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
