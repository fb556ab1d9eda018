"""Literals to knobs and back."""

from __future__ import annotations

import re

from lhkit.model.errors import usage_error
from lhkit.model.knob import attribute_text
from lhkit.model.schedule import Schedule
from lhkit.text.defaults import default_rules_removed
from lhkit.text.layout import cut
from lhkit.text.op_tree import OpSyntax, Use
from lhkit.text.script import Edited, Replacement, Script
from lhkit.text.step_arguments import arguments_of, types_of

_KNOB = "transform.tune.knob"


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
    found: dict[str, list[OpSyntax]] = {}
    for op in script.steps:
        if op.name == _KNOB and op.results:
            found.setdefault(op.string, []).append(op)
    return found


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


# What a knob has as default in the text: a string, or anything else up to the list of its options.
_DEFAULT = r'(?:"(?:[^"\\\n]|\\.)*"|[^\[\]"\n]*?)'


def with_knobs_set(schedule: Schedule) -> str:
    """Return the text of a schedule in which knobs that were set, or follow from a target, have that default.

    Raises:
        UsageError: A knob's value cannot be written into its text.
    """
    text = schedule.text
    for name, value in {**dict(schedule.target_defaults), **dict(schedule.settings)}.items():
        head = rf'(tune\.knob\s*<\s*"{re.escape(name)}"\s*>)'
        written = f" = {attribute_text(value)} from options"
        before = re.compile(rf"{head}(?:\s*=\s*{_DEFAULT}\sfrom)?\s*options")
        text, count = before.subn(lambda match, written=written: match[1] + written, text)  # type: ignore[misc]
        if count == 0:
            message = f"the value of {name!r} cannot be written into {schedule.source}"
            raise usage_error(message, "Only a transform.tune.knob with a list of options holds its value.")
    return text
