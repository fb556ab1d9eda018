"""What the knobs of a schedule require of one another, written in its comments.

``// lhkit: require tile_m * tile_n <= 1024`` anywhere in the text: an expression over the knobs with
arithmetic, comparisons, ``and``, ``or``, ``not``, and the functions ``min``, ``max`` and ``abs``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

import simpleeval

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.schedule.layout import comments_removed
from lhkit.schedule.lexing import lex
from lhkit.schedule.script import with_replacements

_MARK = "lhkit: require"
_REQUIRE = re.compile(r"//\s*lhkit:\s*require\s+(.*\S)")
_FUNCTIONS = {"min": min, "max": max, "abs": abs}


@dataclass(frozen=True, slots=True)
class Requirement:
    """An expression that has to be true of the values of knobs.

    Attributes:
        expression: As it is written.
        at: Where it begins.
        names: The knobs in it.
    """

    expression: str
    at: Span
    names: frozenset[str]

    def holds(self, values: Mapping[str, KnobValue]) -> bool:
        """Return whether it is true; knobs without a value make it true.

        Raises:
            ValueError: It cannot be evaluated, with the reason.
        """
        if not self.names <= values.keys():
            return True
        try:
            return bool(simpleeval.simple_eval(self.expression, names=dict(values), functions=_FUNCTIONS))
        except (simpleeval.InvalidExpression, ArithmeticError, TypeError, ValueError) as error:
            raise ValueError(str(error)) from None


def requirements_of(schedule: Schedule) -> tuple[Requirement, ...]:
    """Return the requirements in the text of a schedule, in order.

    Raises:
        UsageError: One is no expression, or names what is no knob; with its place.
    """
    if _MARK not in schedule.text.replace("lhkit:require", _MARK):
        return ()
    found = []
    for token in lex(schedule.text):
        match = _REQUIRE.match(token.text) if token.kind == "comment" else None
        if match:
            at = Span(schedule.source, token.line, token.column + match.start(1))
            found.append(Requirement(match[1], at, _names(match[1], at, schedule)))
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
                f"{requirement.expression!r} cannot be evaluated: {error}", requirement, schedule
            ) from None
        shown = ", ".join(f"{name}={values[name]}" for name in sorted(requirement.names))
        raise _refused(
            f"the schedule requires {requirement.expression}, which {shown} does not meet",
            requirement,
            schedule,
        )


def _refused(message: str, requirement: Requirement, schedule: Schedule) -> UsageError:
    return usage_error(message, at=requirement.at, text=schedule.text)


def _names(expression: str, at: Span, schedule: Schedule) -> frozenset[str]:
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        place = Span(at.file, at.line, at.column + (error.offset or 1) - 1)
        raise usage_error(f"{expression!r} is no expression", at=place, text=schedule.text) from None
    known = {knob.name for knob in schedule.knobs}
    used = {
        node.id: node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in _FUNCTIONS
    }
    for name, node in used.items():
        if name not in known:
            have = ", ".join(sorted(known)) or "none"
            place = Span(at.file, at.line, at.column + node.col_offset)
            message = f"{schedule.source} has no knob {name!r}"
            raise usage_error(message, f"Its knobs: {have}.", at=place, text=schedule.text)
    return frozenset(used)
