"""Literals to knobs and back."""

from __future__ import annotations

from collections.abc import Sequence

from lhkit.schedule.arguments import arguments_of, elements_of, types_of
from lhkit.schedule.defaults import default_rules_removed
from lhkit.schedule.layout import cut, put_after, put_before
from lhkit.schedule.naming import fresh_name, names_in
from lhkit.schedule.script import Edited, Replacement, Script, StepRef
from lhkit.schedule.tree import OpSyntax, Use

_KNOB = "transform.tune.knob"
_PARAM = "!transform.param<i64>"


def literal_to_knob(
    script: Script,
    step: StepRef,
    argument: str,
    index: int | None = None,
    *,
    knob: str,
    options: Sequence[int],
    before: StepRef | None = None,
    after: StepRef | None = None,
) -> Edited:
    """Turn an integer of a step into a knob whose default is that integer.

    A ``transform.tune.knob`` goes before the step, and the step reads its parameter:
    ``tile_sizes [8, 32]`` becomes ``tile_sizes [%tile_m, 32]``, with ``!transform.param<i64>`` among the types.
    Most steps then want a handle to one payload op: they read one parameter for each.

    Args:
        script: The schedule.
        step: The step.
        argument: The list or word that holds the integer: ``tile_sizes``, ``after``.
        index: Which element of the list, from 0.
        knob: Name of the knob; a handle of that name is defined for it.
        options: The values it may have, the integer among them.
        before: An earlier step to put the knob before; default is the step itself.
        after: An earlier step to put it behind instead.

    Raises:
        UsageError: There is no integer, it is none of the options, or it stands in a dictionary, which holds
            only constants.
    """
    op = script.find(step)
    start, end = _literal(script, op, argument, index)
    literal = script.text[start:end].replace(" ", "")
    if int(literal) not in options:
        listed = ", ".join(map(str, options))
        raise script.refusal(f"{literal}, the value in the text, is not among the options {listed}", start)
    if knob in _knobs(script):
        raise script.refusal(f"{script.source} has a knob {knob!r} already", _knobs(script)[knob][0])
    if before is not None and after is not None:
        raise script.refusal("say where the knob goes: before a step or after one")
    anchor = before if after is None else after
    target = op if anchor is None else script.find(anchor)
    if target.start > op.start or (after is not None and target.end > op.start):
        raise script.refusal(f"the knob must stand before {script.describe(op)}", target)
    handle = fresh_name(f"%{knob}", names_in(script.text))
    listed = ", ".join(map(str, options))
    line = f'{handle} = {_KNOB}<"{knob}"> = {literal} : i64 from options = [{listed}] -> {_PARAM}'
    replacements = [
        (put_before if after is None else put_after)(script.text, target, line),
        Replacement(start, end, handle),
        _added_type(script, op, start),
    ]
    return script.edited(replacements, f"make {argument} of {script.describe(op)} the knob {knob}")


def knob_to_literal(script: Script, knob: str, value: int | None = None) -> Edited:
    """Replace a knob by an integer wherever a step reads it, and remove it with the rule for its default.

    Args:
        script: The schedule.
        knob: Name of the knob.
        value: The integer; default is the knob's default.

    Raises:
        UsageError: No such knob, no default and no value, or a step that takes no integer in its place.
    """
    ops = _knobs(script).get(knob)
    if not ops:
        listed = ", ".join(_knobs(script)) or "none"
        raise script.refusal(f"{script.source} has no knob {knob!r}; it has {listed}")
    replacements = []
    for op in ops:
        literal = _default(op) if value is None else str(value)
        if literal is None:
            raise script.refusal(f"the knob {knob!r} has no default; say which value it is to have", op)
        users = {d.op.start: d for d in script.handles.definitions if not d.is_argument}[op.start].uses
        for use, user in users:
            replacements += _folded(script, use, user, literal)
        replacements.append(cut(script.text, op, op))
    replacements += default_rules_removed(script.text, [knob])
    return script.edited(replacements, f"replace the knob {knob} by its value")


def _knobs(script: Script) -> dict[str, list[OpSyntax]]:
    """Return the ops of each knob."""
    found: dict[str, list[OpSyntax]] = {}
    for op in script.steps:
        if op.name == _KNOB and op.results:
            found.setdefault(op.string, []).append(op)
    return found


def _literal(script: Script, op: OpSyntax, argument: str, index: int | None) -> tuple[int, int]:
    """Return where the integer stands."""
    found = next((a for a in arguments_of(op) if a.name == argument), None)
    if found is None:
        raise script.refusal(f"{script.describe(op)} has no argument {argument}", op)
    if found.form == "entry":
        message = f"{argument} of {script.describe(op)} stands in a dictionary, where only constants can stand"
        raise script.refusal(message, found.start, "A knob can reach sizes in brackets and operands only.")
    span = (found.start, found.end)
    if found.form == "list":
        elements = elements_of(op, *span)
        if index is None or not 0 <= index < len(elements):
            message = f"{argument} has {len(elements)} elements; say which, from 0"
            raise script.refusal(message, found.start)
        span = elements[index]
    tokens = op.tokens_in(*span)
    if not tokens or tokens[-1].kind != "number" or not tokens[-1].text.isdecimal() or len(tokens) > 2:
        raise script.refusal(f"{script.text[span[0] : span[1]]} is no integer", span[0])
    return span


def _added_type(script: Script, op: OpSyntax, place: int) -> Replacement:
    """Return the replacement that adds the parameter's type where an operand at a place has its own."""
    types = types_of(op)
    if not types or len(types) != len(op.operands):
        message = f"the types of {script.describe(op)} are not one for each operand, so none can be added"
        raise script.refusal(message, op)
    before = sum(use.start < place for use in op.operands)
    if before == 0:
        return Replacement(types[0][0], types[0][0], f"{_PARAM}, ")
    at = types[before - 1][1]
    return Replacement(at, at, f", {_PARAM}")


def _folded(script: Script, use: Use, user: OpSyntax, literal: str) -> list[Replacement]:
    spans = [(a.start, a.end) for a in arguments_of(user) if a.form in ("list", "word")]
    types = types_of(user)
    if not any(s <= use.start < e for s, e in spans) or len(types) != len(user.operands):
        message = f"{script.describe(user)} takes no integer in the place of {use.text}"
        raise script.refusal(message, use.start, "It reads the knob's parameter as a handle.")
    i = user.operands.index(use)
    start, end = types[i]
    if i:
        start = types[i - 1][1]
    elif len(types) > 1:
        end = types[1][0]
    return [Replacement(use.start, use.end, literal), Replacement(start, end, "")]


def _default(op: OpSyntax) -> str | None:
    """Return the default of a knob as its text has it, without a type."""
    tokens = [token.text for token in op.tokens]
    close = tokens.index(">") if ">" in tokens else -1
    if tokens[close + 1 : close + 2] != ["="]:
        return None
    sign = tokens[close + 2] == "-"
    return "".join(tokens[close + 2 : close + 3 + sign])
