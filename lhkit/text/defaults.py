"""Defaults of knobs that follow from the target, as the comments of a schedule say.

``// lhkit: default lanes = vector_bits / 32`` anywhere in the text: an expression over ``vector_bits``,
``vector_registers``, ``l1_bytes``, ``l2_bytes`` and ``cores``, with what `expressions` offers, such as
``8 if vector_registers >= 32 else 6``. Values that are set go before it; programs that do not read comments
take the default in the text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.model.target import FACTS, Target
from lhkit.text.expressions import Expression, parse_expression
from lhkit.text.layout import comments_removed
from lhkit.text.lexer import matching_comments
from lhkit.text.script import Replacement, with_replacements

_DEFAULT = re.compile(r"//\s*lhkit:\s*default\b\s*(.*\S)?")
# The first line of a text in which the knobs are folded to the defaults of a target.
_EXPORTED = "// Knobs are set as for the target {}.\n"
_EXPORTED_FOR = re.compile(re.escape(_EXPORTED).replace(r"\{\}", r"(\w+)"))
_RULE = re.compile(r"([\w.$-]+)\s*=\s*(?!=)(.*)")


@dataclass(frozen=True, slots=True)
class DefaultRule:
    """What the default of a knob follows from.

    Attributes:
        knob: Name of the knob.
        expression: Its default.
        at: Where the expression begins.
    """

    knob: str
    expression: Expression
    at: Span


def default_rules(schedule: Schedule) -> tuple[DefaultRule, ...]:
    """Return the rules in the text of a schedule, in order.

    Raises:
        UsageError: One is no rule, names what is no knob or no fact of a target, or is the second of its knob;
            with its place.
    """
    found: dict[str, DefaultRule] = {}
    for token, match in matching_comments(schedule.text, _DEFAULT):
        start = match.start(1) if match[1] else match.end()
        rule = _rule(match[1] or "", Span(schedule.source, token.line, token.column + start), schedule)
        if rule.knob in found:
            at = dataclasses.replace(rule.at, column=token.column + start)
            raise _refused(f"a second default of the knob {rule.knob!r}", schedule, at)
        found[rule.knob] = rule
    return tuple(found.values())


def with_target_defaults(schedule: Schedule, target: Target, *, is_asked: bool = False) -> Schedule:
    """Return a schedule whose knobs have the defaults that its comments give them on a target.

    One without such comments is of no target, unless that is asked for.

    Raises:
        UsageError: A rule cannot be read or evaluated, or gives what its knob does not allow; with its place.
    """
    rules = default_rules(schedule)
    if not rules:
        return dataclasses.replace(schedule, target=target.name) if is_asked else schedule
    defaults = {rule.knob: _value(rule, schedule, target) for rule in rules}
    knobs = tuple(
        dataclasses.replace(knob, default=defaults.get(knob.name, knob.default)) for knob in schedule.knobs
    )
    return dataclasses.replace(
        schedule, knobs=knobs, target=target.name, target_defaults=tuple(defaults.items())
    )


def exported_for(text: str, target: str) -> str:
    """Return a text without knobs with a first line that names the target whose defaults it has."""
    return _EXPORTED.format(target) + text


def exported_target(text: str) -> str:
    """Return the target that the first line of such a text names; empty for others."""
    found = _EXPORTED_FOR.match(text)
    return found[1] if found else ""


def without_default_rules(text: str, knobs: Collection[str] | None = None) -> str:
    """Return a schedule's text without the comments that give defaults to these knobs, or to any."""
    return with_replacements(text, default_rules_removed(text, knobs))


def default_rules_removed(text: str, knobs: Collection[str] | None = None) -> list[Replacement]:
    """Return the replacements that take the comments out that give defaults to these knobs, or to any."""
    names = r"[\w.$-]+" if knobs is None else f"(?:{'|'.join(map(re.escape, knobs))})"
    pattern = re.compile(rf"//\s*lhkit:\s*default\s+{names}\s*=.*")
    return comments_removed(text, pattern)


def _rule(text: str, at: Span, schedule: Schedule) -> DefaultRule:
    match = _RULE.fullmatch(text)
    if match is None:
        advice = "It reads: lhkit: default KNOB = EXPRESSION."
        raise usage_error(f"{text!r} gives no knob a default", advice, at=at, text=schedule.text)
    known = [knob.name for knob in schedule.knobs]
    if match[1] not in known:
        have = ", ".join(sorted(known)) or "none"
        message = f"{schedule.source} has no knob {match[1]!r}"
        raise usage_error(message, f"Its knobs: {have}.", at=at, text=schedule.text)
    place = dataclasses.replace(at, column=at.column + match.start(2))
    expression = parse_expression(
        match[2], FACTS, owner="a target", named="fact", at=place, source=schedule.text
    )
    return DefaultRule(match[1], expression, place)


def _value(rule: DefaultRule, schedule: Schedule, target: Target) -> KnobValue:
    knob = next(k for k in schedule.knobs if k.name == rule.knob)
    text = rule.expression.text
    try:
        value = rule.expression.value(target.facts)
    except ValueError as error:
        raise _refused(f"{text!r} cannot be evaluated on {target.name}: {error}", schedule, rule.at) from None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int | float | str):
        raise _refused(f"{text!r} is {value!r}, which no knob can be", schedule, rule.at)
    try:
        return knob.check(value)
    except UsageError as error:
        what = f"on {target.name} the default {text} is {value}, but {error.failure.message}"
        raise usage_error(what, error.failure.advice, at=rule.at, text=schedule.text) from None


def _refused(message: str, schedule: Schedule, at: Span) -> UsageError:
    return usage_error(message, at=at, text=schedule.text)
