"""Where one step more can be tried: a schedule cut behind a step, and the handles in sight there."""

from __future__ import annotations

from dataclasses import dataclass

from lhkit.model.errors import UsageError
from lhkit.model.step_form import TypedName
from lhkit.text.layout import cut
from lhkit.text.op_tree import OpSyntax
from lhkit.text.ranges import is_consumed, type_of
from lhkit.text.script import SEQUENCE, Replacement, Script, is_terminator

_INCLUDE, _FOREACH = "transform.include", "transform.foreach"
_ADVICE = "Ops are tried behind steps of sequences that the entry applies, and of foreach."


@dataclass(frozen=True, slots=True)
class Place:
    """The end of a schedule that was cut behind a step.

    Attributes:
        script: What is left: nothing behind the step, nor behind what it stands in.
        inside: Number of the step at the end of whose block there is room: a sequence, or a foreach.
        depth: How many last steps one enters from the end of the entry to get there.
        around: The symbols of the sequences on the way.
        in_sight: The handles that can be read there and were not consumed, nearest first.
    """

    script: Script
    inside: int
    depth: int
    around: tuple[str, ...]
    in_sight: tuple[TypedName, ...]


@dataclass(frozen=True, slots=True)
class _Level:
    """A sequence or foreach and the place in it behind which its steps are left out."""

    owner: OpSyntax
    behind: int


def place_behind(script: Script, entry: str, step: OpSyntax, *, inside: bool) -> Place:
    """Return the place behind a step, or at the beginning of what it has inside.

    Args:
        script: The schedule, with its outline.
        entry: The symbol of its entry.
        step: The step.
        inside: True for the beginning of its body.

    Raises:
        UsageError: The entry does not get there in a way that can be followed, or what would be left out is
            handed on.
    """
    top = script.find(entry)
    if inside:
        levels = [*_levels_around(script, top, step, ()), _Level(step, step.regions[-1].start)]
    else:
        levels = _levels_of(script, top, step, ())
    replacements = []
    for level in levels:
        replacements += [_consuming(script, level.owner)] if level.owner.name == SEQUENCE else []
        replacements += _without_later(script, level)
    last = levels[-1]
    gone = [r for r in replacements if not r.text]
    earlier = (s for s in script.steps if s.start < last.owner.start)
    number = sum(not any(r.start <= s.start < r.end for r in gone) for s in earlier)
    text = script.edited(replacements, "cut").text
    around = tuple(x.owner.symbol for x in levels if x.owner.name == SEQUENCE)
    sight = _in_sight(script, last)
    return Place(Script(text, script.source), number, len(levels) - 1, around, sight)


def _levels_of(script: Script, entry: OpSyntax, step: OpSyntax, seen: tuple[str, ...]) -> list[_Level]:
    """Return the levels down to the block that a step stands in, outermost first."""
    owner = script.home_of(step)[0]
    if owner is None:
        raise script.refusal(f"{script.describe(step)} is in no sequence", step, _ADVICE)
    return [*_levels_around(script, entry, owner, seen), _Level(owner, step.end)]


def _levels_around(script: Script, entry: OpSyntax, owner: OpSyntax, seen: tuple[str, ...]) -> list[_Level]:
    """Return the levels down to where a sequence is included, or a foreach stands; none for the entry."""
    if owner.start == entry.start:
        return []
    if owner.name == _FOREACH:
        return _levels_of(script, entry, owner, seen)
    symbol = owner.symbol if owner.name == SEQUENCE else ""
    if not symbol or symbol in seen:
        message = f"steps inside of {script.describe(owner)} are not reached one by one"
        raise script.refusal(message, owner, _ADVICE)
    for op in script.steps:
        is_such = op.name == _INCLUDE and op.symbol == symbol
        if is_such and "suppress" not in script.text[op.start : op.end]:
            try:
                return _levels_of(script, entry, op, (*seen, symbol))
            except UsageError:
                continue  # another include of it may be reached
    raise script.refusal(f"{entry.symbol} does not include {symbol}", owner, _ADVICE)


def _without_later(script: Script, level: _Level) -> list[Replacement]:
    """Return the replacement that cuts the steps behind a place; what they define must not be handed on."""
    ops = level.owner.regions[-1].blocks[-1].ops
    later = [op for op in ops if op.start >= level.behind and not is_terminator(op)]
    if not later:
        return []
    defined = {name.text for op in later for name in op.results}
    for use in (use for op in ops if is_terminator(op) for use in op.operands):
        if use.name in defined:
            message = f"{use.text} is handed on at the end of {script.describe(level.owner)}"
            advice = "Steps behind the place are left out, this one among them; choose a place behind it."
            raise script.refusal(message, use.start, advice)
    return [cut(script.text, later[0], later[-1])]


def _consuming(script: Script, sequence: OpSyntax) -> Replacement:
    """Return the replacement that lets a sequence consume what it is given: what is tried may want to."""
    start, end = sequence.start, sequence.regions[0].start
    return Replacement(start, end, script.text[start:end].replace("transform.readonly", "transform.consumed"))


def _in_sight(script: Script, level: _Level) -> tuple[TypedName, ...]:
    handles = script.handles
    scope = handles.scope_at(level.owner.regions[-1].start + 1)
    found = []
    for definition in handles.in_sight(scope).values():
        is_before = definition.is_argument or definition.op.end <= level.behind
        if not is_before or not handles.may_read(scope, definition):
            continue
        gone = {
            definition.value_of(use)
            for use, user in definition.uses
            if use.start < level.behind and is_consumed(script, use, user)
        }
        kept = [v for v in definition.name.values if v not in gone]
        found += [(definition.name.start, TypedName(v, type_of(script, definition, v))) for v in kept]
    found.sort(key=lambda pair: -pair[0])
    return tuple(handle for _, handle in found)
