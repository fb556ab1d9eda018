"""What the knobs of a schedule require of one another, written in its comments.

``// lhkit: require tile_m * tile_n <= 1024`` anywhere in the text: an expression over the knobs with
arithmetic, comparisons, ``and``, ``or``, ``not``, and the functions ``min``, ``max``, ``abs`` and
``divides(a, b)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.text.expressions import Expression, parse_expression
from lhkit.text.layout import comments_removed
from lhkit.text.lexer import matching_comments
from lhkit.text.script import with_replacements

_REQUIRE = re.compile(r"//\s*lhkit:\s*require\s+(.*\S)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """An expression that has to be true of the values of knobs.

    Attributes:
        expression: The expression.
        at: Where it begins.
    """

    expression: Expression
    at: Span

    @property
    def names(self) -> tuple[str, ...]:
        """The knobs in it, sorted."""
        return self.expression.names

    def holds(self, values: Mapping[str, KnobValue]) -> bool:
        """Return whether it is true; knobs without a value make it true.

        Raises:
            ValueError: It cannot be evaluated, with the reason.
        """
        return not values.keys() >= set(self.names) or self.expression.holds(values)


def requirements_of(schedule: Schedule) -> tuple[Requirement, ...]:
    """Return the requirements in the text of a schedule, in order.

    Raises:
        UsageError: One is no expression, or names what is no knob; with its place.
    """
    found = []
    for token, match in matching_comments(schedule.text, _REQUIRE):
        at = Span(schedule.source, token.line, token.column + match.start(1))
        found.append(Requirement(_parse(match[1], at, schedule), at))
    return tuple(found)


def without_requirements(text: str) -> str:
    """Return a schedule's text without the comments that say what its knobs require of one another."""
    return with_replacements(text, comments_removed(text, _REQUIRE))


def check_requirements(schedule: Schedule) -> None:
    """Check the values of a schedule's knobs against what it requires of them.

    Raises:
        UsageError: One is not met, or cannot be read; with its place and the values.
    """
    requirements = requirements_of(schedule)
    values = schedule.values if requirements else {}
    for requirement in requirements:
        try:
            if requirement.holds(values):
                continue
        except ValueError as error:
            raise _refused(
                f"{requirement.expression.text!r} cannot be evaluated: {error}", requirement, schedule
            ) from None
        shown = ", ".join(f"{name}={values[name]}" for name in requirement.names)
        raise _refused(
            f"the schedule requires {requirement.expression.text}, which {shown} does not meet",
            requirement,
            schedule,
        )


def _refused(message: str, requirement: Requirement, schedule: Schedule) -> UsageError:
    return usage_error(message, at=requirement.at, text=schedule.text)


def _parse(text: str, at: Span, schedule: Schedule) -> Expression:
    known = [knob.name for knob in schedule.knobs]
    return parse_expression(text, known, owner=schedule.source, at=at, source=schedule.text)
