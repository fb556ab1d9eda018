"""Repairs of a step whose payload ops are not of the kind that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lhkit.repairs.empty_matches import other_roots
from lhkit.repairs.other_handles import other_handles
from lhkit.repairs.repair_context import (
    ANY_OP,
    Candidate,
    Located,
    RepairContext,
    candidate,
    retyped_results,
    type_span,
)
from lhkit.text.script import Replacement
from lhkit.text.step_arguments import arguments_of, result_types_of

_PARENT, _CAST = "transform.get_parent_op", "transform.cast"
_MATCH = "transform.structured.match"
_TYPED = re.compile(r'!transform\.op<"([^"]*)">')
_HOLDERS = ("scf.", "func.", "builtin.", "affine.")


def propose_kinds(context: RepairContext) -> Iterator[Candidate]:
    """Yield candidates that search, read or declare payload of another kind."""
    if context.op.name == _PARENT:
        yield from _other_parent(context)
        return
    if context.op.name == _MATCH:
        yield from other_roots(context)
    yield from _other_type(context)
    for position, operand in enumerate(o.handle for o in context.step.operands):
        given = context.locate(operand)
        if given is not None and given.record.kind == "op":
            yield from other_handles(context, given, position)
            yield from _inside(context, given)


def _other_parent(context: RepairContext) -> Iterator[Candidate]:
    text, trace = context.script.text, context.trace
    argument = next((a for a in arguments_of(context.op) if a.name == "op_name"), None)
    change = context.before.get(context.step.operands[0].handle)
    if argument is None or change is None:
        return
    names: list[str] = []
    for reference in change.payload:
        at = trace.op(reference).parent if isinstance(reference, str) else None
        while at is not None:
            names.append(trace.op(at).name)
            at = trace.op(at).parent
    alive = {op.name for op in context.history.alive_before(context.step.index)}
    dialect = text[argument.start : argument.end].strip('"').partition(".")[0]
    # Where an op lies may have changed since it was first seen.
    names += sorted(n for n in alive if n.startswith(f"{dialect}."))
    for i, name in enumerate(n for n in dict.fromkeys(names) if n in alive and n != "builtin.module"):
        title = f"Ask for a parent {name}: that is what lies around"
        same = name.startswith(f"{dialect}.")
        edit = Replacement(argument.start, argument.end, f'"{name}"')
        yield candidate("other-name", title, context.script, [edit], 0 if same else min(1 + i, 3))


def _other_type(context: RepairContext) -> Iterator[Candidate]:
    script, op = context.script, context.op
    types = _cast_types(context) if op.name == _CAST else result_types_of(op)
    for start, end in dict.fromkeys(types):
        old = script.text[start:end]
        typed = _TYPED.fullmatch(old)
        if typed is None:
            continue
        for doubt, new in enumerate([*_actual_types(context), ANY_OP]):
            if op.name == _CAST:
                uses = [type_span(script, user, use) for d in script.results_of(op) for use, user in d.uses]
                spans = [span for span in uses if span is not None]
                edits: list[Replacement] | None = [Replacement(*s, new) for s in (*spans, (start, end))]
            else:
                edits = retyped_results(script, op, old, new)
            if edits:
                title = f"Write {new}: what the handle points to is no {typed[1]}"
                yield candidate("type", title, script, edits, doubt)


def _actual_types(context: RepairContext) -> list[str]:
    if context.op.name != _CAST or not context.step.operands:
        return []
    change = context.before.get(context.step.operands[0].handle)
    names = {context.trace.op(r).name for r in change.payload if isinstance(r, str)} if change else set()
    return [f'!transform.op<"{name}">' for name in names] if len(names) == 1 else []


def _cast_types(context: RepairContext) -> tuple[tuple[int, int], ...]:
    start, end = context.op.signature or (0, 0)
    at = context.script.text.rfind(" to ", start, end)
    return ((at + len(" to "), end),) if at >= 0 else ()


def _inside(context: RepairContext, given: Located) -> Iterator[Candidate]:
    """Yield candidates that match inside payload ops which only contain the wanted ones."""
    if not given.ops or not all(name.startswith(_HOLDERS) for name in given.payload):
        return
    if context.op.name.startswith("transform.structured."):
        interface, doubt = "LinalgOp", 3
    elif context.op.name.startswith("transform.loop."):
        interface, doubt = "LoopLikeInterface", 3
    else:
        return
    new = context.fresh(given.value, "_inside")
    line = f"{new} = {_MATCH} interface{{{interface}}} in {given.value} : ({given.type}) -> {ANY_OP}"
    edits = context.replaced_uses(context.uses_in_step(given), new, given.type, ANY_OP)
    if edits:
        title = f"Match the ops inside {given.value} that step {context.step.index} is for"
        yield candidate("match-inside", title, context.script, [context.inserted(line), *edits], doubt)
