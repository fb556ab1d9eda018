"""Candidates for steps that were given too many or too few: sizes, handles, payload ops."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lhkit.model.errors import UsageError
from lhkit.repairs.empty_handles import other_roots
from lhkit.repairs.other_handles import (
    definitions_of,
    other_handles,
    retyped_results,
    with_more_results,
    without_last_results,
)
from lhkit.repairs.repair_context import ANY_OP, Candidate, Located, Situation, candidate, type_span
from lhkit.text.script import Replacement
from lhkit.text.step_arguments import Argument, arguments_of, elements_of, result_types_of, set_argument
from lhkit.text.structure_edits import wrap_in_foreach

_SPLIT = "transform.split_handle"
_TOO_MANY = re.compile(r"expected at most ([0-9]+)")
_SINGLE = re.compile(r"exactly (one|1|2)\b|single (payload|target|function|module)", re.IGNORECASE)
_NEGATIVE = re.compile(r"-\s*([0-9]+)")
# More handles than this out of one are nothing to be written by hand.
_MOST_SPLIT = 8


def candidates_for_counts(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates for a step that was given another number of something than it takes."""
    said = " ".join(d.message for d in situation.step.diagnostics if d.severity == "error")
    if (too_many := _TOO_MANY.search(said)) is not None:
        yield from _fewer_sizes(situation, int(too_many[1]))
    yield from _positive_sizes(situation)
    if situation.op.name == _SPLIT:
        yield from _other_split(situation)
    elif _SINGLE.search(said):
        yield from _one_at_a_time(situation)


def _lists(situation: Situation) -> list[tuple[Argument, tuple[tuple[int, int], ...]]]:
    text = situation.script.text
    found = [a for a in arguments_of(situation.op) if text[a.start : a.start + 1] == "["]
    return [(a, elements_of(situation.op, a.start, a.end)) for a in found]


def _fewer_sizes(situation: Situation, most: int) -> Iterator[Candidate]:
    text, op = situation.script.text, situation.op
    for argument, elements in _lists(situation):
        gone = [text[a:b] for a, b in elements[most:]]
        if not gone or most == 0 or any("%" in size for size in gone):
            continue
        loops = sum(size != "0" for size in gone) if op.name.endswith("tile_using_for") else 0
        fewer = without_last_results(situation.script, op, loops)
        if fewer is None:
            continue
        edits = [Replacement(elements[most - 1][1], elements[-1][1], ""), *fewer]
        kept = ", ".join(text[a:b] for a, b in elements[:most])
        title = f"Shorten {argument.name} to [{kept}]: there are {most} loops"
        yield candidate("sizes", title, text, edits)


def _positive_sizes(situation: Situation) -> Iterator[Candidate]:
    text = situation.script.text
    for argument, elements in _lists(situation):
        edits = []
        for start, end in elements:
            if (negative := _NEGATIVE.fullmatch(text[start:end])) is not None:
                edits.append(Replacement(start, end, negative[1]))
        if edits:
            title = f"Make {argument.name} positive"
            yield candidate("sizes", title, text, edits)


def _other_split(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates for a handle that is split into another number of handles than it has payload ops."""
    script, op = situation.script, situation.op
    change = situation.before.get(situation.step.operands[0].handle)
    there, wanted = len(change.payload) if change else 0, len(op.values)
    number = script.number_of(op)
    title = f"Split into {there} handles, as many as there are payload ops"
    edits: list[Replacement] | None = None
    if 0 < there < wanted:
        edits = without_last_results(script, op, wanted - there)
        yield from _attribute(situation, number, "fail_on_payload_too_small", "false", "Allow fewer ops", 2)
    elif wanted < there <= _MOST_SPLIT:
        names: list[str] = []
        for i in range(wanted, there):
            names.append(situation.fresh(f"%rest_{i}"))
        edits = with_more_results(script, op, names)
    if there > wanted:
        last = op.values[-1]
        title_of_rest = f"Let {last} take what is left over"
        yield from _attribute(situation, number, "overflow_result", f"{wanted - 1}", title_of_rest, 1)
    if edits:
        yield candidate("split-count", title, script.text, edits)


def _attribute(
    situation: Situation, number: int, name: str, value: str, title: str, doubt: int
) -> Iterator[Candidate]:
    try:
        yield Candidate("split-count", title, set_argument(situation.script, number, name, value), doubt)
    except UsageError:  # the step is written in a form that the edit does not know
        return


def _one_at_a_time(situation: Situation) -> Iterator[Candidate]:
    """Yield candidates for a step that takes one payload op and was given several."""
    script, op = situation.script, situation.op
    for operand in dict.fromkeys(o.handle for o in situation.step.operands):
        change = situation.before.get(operand)
        located = situation.locate(operand)
        if change is None or located is None or not len(change.payload) > 1:
            continue
        number = len(change.payload)
        try:
            edited = wrap_in_foreach(script, script.number_of(op), handle=located.value)
            title = f"Run step {situation.step.index} for each of the {number} ops of {located.value}"
            yield Candidate("each-alone", title, edited)
        except UsageError:  # the handle is not read by the step as the edit sees it
            pass
        if number > _MOST_SPLIT:
            continue
        for i in (0, number - 1):
            names = [situation.fresh(f"{located.value.partition('#')[0]}_part{k}") for k in range(number)]
            types = ", ".join([located.type] * number)
            line = f"{', '.join(names)} = {_SPLIT} {located.value} : ({located.type}) -> ({types})"
            uses = [(u, o) for u, o in situation.uses(located) if o.start == op.start]
            replaced = situation.replaced_uses(uses, names[i], located.type, located.type) or []
            which = "first" if i == 0 else "last"
            title = f"Split {located.value} and use the {which} of its {number} ops"
            yield candidate("split-count", title, script.text, [situation.inserted(line), *replaced], 1)


# Candidates for steps that were given the wrong kind of payload op, or that ask for one that is not there.


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
