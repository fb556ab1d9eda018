"""Candidates for steps that were given the wrong kind of payload op, or that ask for one that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lhkit.repairs.candidate import Candidate, candidate
from lhkit.repairs.empty_handles import other_roots
from lhkit.repairs.other_handles import other_handles
from lhkit.repairs.repair_context import ANY_OP, Located, Situation, type_span
from lhkit.repairs.results import definitions_of, retyped_results
from lhkit.text.script import Replacement
from lhkit.text.step_arguments import arguments_of, result_types_of

_PARENT, _CAST = "transform.get_parent_op", "transform.cast"
_MATCH = "transform.structured.match"
_TYPED = re.compile(r'!transform\.op<"([^"]*)">')
_HOLDERS = ("scf.", "func.", "builtin.", "affine.")


def candidates_for_kinds(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates for a step whose payload ops are not of the kind that it takes."""
    if situation.op.name == _PARENT:
        yield from _other_parent(situation)
        return
    if situation.op.name == _MATCH:
        yield from other_roots(situation)
    yield from _other_type(situation)
    for position, operand in enumerate(o.handle for o in situation.step.operands):
        given = situation.locate(operand)
        if given is not None and given.record.kind == "op":
            yield from other_handles(situation, given, position)
            yield from _inside(situation, given)


def _other_parent(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates that ask for a parent op which is there."""
    text, trace = situation.script.text, situation.trace
    argument = next((a for a in arguments_of(situation.op) if a.name == "op_name"), None)
    change = situation.before.get(situation.step.operands[0].handle)
    if argument is None or change is None:
        return
    names: list[str] = []
    for reference in change.payload:
        at = trace.op(reference).parent if isinstance(reference, str) else None
        while at is not None:
            names.append(trace.op(at).name)
            at = trace.op(at).parent
    alive = {op.name for op in situation.history.alive_before(situation.step.index)}
    dialect = text[argument.start : argument.end].strip('"').partition(".")[0]
    # Where an op lies may have changed since it was first seen.
    names += sorted(n for n in alive if n.startswith(f"{dialect}."))
    for i, name in enumerate(n for n in dict.fromkeys(names) if n in alive and n != "builtin.module"):
        title = f"Ask for a parent {name}: that is what lies around"
        same = name.startswith(f"{dialect}.")
        edit = Replacement(argument.start, argument.end, f'"{name}"')
        yield candidate("other-name", title, text, [edit], 0 if same else min(1 + i, 3))


def _other_type(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates that give results the type of what there is."""
    script, op = situation.script, situation.op
    types = [_cast_type(situation)] if op.name == _CAST else list(result_types_of(op))
    for start, end in dict.fromkeys(span for span in types if span is not None):
        old = script.text[start:end]
        typed = _TYPED.fullmatch(old)
        if typed is None:
            continue
        for doubt, new in enumerate([*_actual_types(situation), ANY_OP]):
            if op.name == _CAST:
                edits: list[Replacement] | None = [*_uses_retyped(situation, new), Replacement(start, end, new)]
            else:
                edits = retyped_results(script, op, old, new)
            if edits:
                title = f"Write {new}: what the handle points to is no {typed[1]}"
                yield candidate("type", title, script.text, edits, doubt)


def _actual_types(situation: Situation) -> list[str]:
    """Return the type of what a cast is given."""
    if situation.op.name != _CAST or not situation.step.operands:
        return []
    change = situation.before.get(situation.step.operands[0].handle)
    names = {situation.trace.op(r).name for r in change.payload if isinstance(r, str)} if change else set()
    return [f'!transform.op<"{name}">' for name in names] if len(names) == 1 else []


def _cast_type(situation: Situation) -> tuple[int, int] | None:
    """Return where the type that a cast gives is written."""
    op, text = situation.op, situation.script.text
    at = text.rfind(" to ", *op.signature) if op.signature is not None else -1
    return (at + len(" to "), op.signature[1]) if op.signature is not None and at >= 0 else None


def _uses_retyped(situation: Situation, new: str) -> list[Replacement]:
    script = situation.script
    definitions = definitions_of(script, situation.op)
    spans = [type_span(script, user, use) for d in definitions for use, user in d.uses]
    return [Replacement(*span, new) for span in spans if span is not None]


def _inside(situation: Situation, given: Located) -> Iterator[Candidate]:
    """Yield candidates that look inside of payload ops which only hold what the step is for."""
    if not given.ops or not all(name.startswith(_HOLDERS) for name in given.payload):
        return
    if situation.op.name.startswith("transform.structured."):
        interface, doubt = "LinalgOp", 3
    elif situation.op.name.startswith("transform.loop."):
        interface, doubt = "LoopLikeInterface", 3
    else:
        return
    new = situation.fresh(f"{given.value.partition('#')[0]}_inside")
    line = f"{new} = {_MATCH} interface{{{interface}}} in {given.value} : ({given.type}) -> {ANY_OP}"
    uses = [(u, o) for u, o in situation.uses(given) if o.start == situation.op.start]
    edits = situation.replaced_uses(uses, new, given.type, ANY_OP)
    if edits:
        title = f"Match the ops inside {given.value} that step {situation.step.index} is for"
        yield candidate("match-inside", title, situation.script.text, [situation.inserted(line), *edits], doubt)
