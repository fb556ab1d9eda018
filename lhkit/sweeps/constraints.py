"""Constraints: what the values of a point have to be to one another."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.span import Span
from lhkit.text.expressions import Expression, parse_expression
from lhkit.text.requirements import Requirement

Predicate = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition on the values of some names.

    Attributes:
        sentence: What it demands, for messages: ``tile_m divides 512``.
        names: What it reads: axes, facts of payloads.
        predicate: Called with the values by name; true where they may stand together.
        at: Where it is written, or None.
        text: The source that ``at`` points into.
        evaluations: What one call costs in comparison with a Python function; for the choice what to count.
    """

    sentence: str
    names: tuple[str, ...]
    predicate: Predicate
    at: Span | None = None
    text: str = ""
    evaluations: int = 2

    def holds(self, values: Mapping[str, KnobValue]) -> bool:
        """Return whether the values may stand together.

        Args:
            values: A value for each of its names.

        Raises:
            UsageError: The predicate raised; the message says which, for which values, and what.
        """
        try:
            return bool(self.predicate(**values))
        except Exception as error:
            shown = ", ".join(f"{name}={values[name]}" for name in self.names)
            said = str(error) if isinstance(error, _NoValueError) else f"{type(error).__name__}: {error}"
            raise usage_error(
                f"the constraint {self.sentence!r} cannot be decided for {shown}: {said}",
                "A constraint has to be true or false for every combination of the values of its knobs.",
                at=self.at,
                text=self.text,
            ) from error

    def given(self, constants: Mapping[str, KnobValue]) -> Constraint:
        """Return the constraint on its other names, some of them having these values."""
        own = {name: constants[name] for name in self.names if name in constants}
        if not own:
            return self
        names = tuple(name for name in self.names if name not in own)
        return dataclasses.replace(self, names=names, predicate=functools.partial(self.predicate, **own))


class _NoValueError(ValueError):
    """An expression has no value; the message says why."""


# How much dearer the evaluation of an expression is than a call of a Python function.
_EXPRESSION_COST = 8


def as_constraint(given: str | Predicate | Requirement | Constraint, known: Collection[str]) -> Constraint:
    """Return the constraint that is meant.

    Args:
        given: An expression as text, a Python function of knobs by name, a requirement of a schedule, or a
            constraint. Parameters with defaults that are no knobs keep their defaults; ``**values`` takes all.
        known: The names that it may use, in order.

    Raises:
        UsageError: It is no expression, uses an unknown name, or is no function of named parameters.
    """
    if isinstance(given, Constraint):
        return _checked(given, known)
    if isinstance(given, Requirement):
        return from_expression(given.expression, at=given.at)
    if isinstance(given, str):
        at = Span("<constraint>", 1, 1)
        parsed = parse_expression(given, known, owner="the space", at=at, source=given)
        return from_expression(parsed, at=at, text=given)
    if callable(given):
        return _checked(_from_function(given, known), known)
    raise usage_error(f"{given!r} is no constraint", "Give an expression as text, or a function of knobs.")


def from_expression(
    expression: Expression, *, sentence: str | None = None, at: Span | None = None, text: str = ""
) -> Constraint:
    """Return the constraint that an expression is true.

    Args:
        expression: The expression.
        sentence: What it demands; without one the expression itself.
        at: Where it is written.
        text: The source that ``at`` points into.
    """

    def predicate(**values: KnobValue) -> bool:
        try:
            return expression.holds(values)
        except ValueError as error:
            raise _NoValueError(str(error)) from None

    return Constraint(
        sentence or expression.text, expression.names, predicate, at, text, evaluations=_EXPRESSION_COST
    )


def _from_function(function: Predicate, known: Collection[str]) -> Constraint:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise usage_error(
            f"the parameters of {function!r} cannot be read", "Wrap it: lambda tile_m: …(tile_m)."
        ) from None
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            names += [n for n in known if n not in names]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            message = f"the constraint {_described(function)} takes {parameter} by position"
            raise usage_error(message, "Constraints are called with the values of knobs by name.")
        elif parameter.name in known or parameter.default is parameter.empty:
            names.append(parameter.name)
    return Constraint(_described(function), tuple(names), function)


def _described(function: Predicate) -> str:
    """Return the first line of a function's documentation, else its name, and where it is written."""
    documented = (
        (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".") if inspect.isroutine(function) else ""
    )
    name = getattr(function, "__name__", type(function).__name__)
    named = documented or ("a lambda" if name == "<lambda>" else name)
    code = getattr(function, "__code__", None)
    return f"{named} ({code.co_filename}:{code.co_firstlineno})" if code is not None else named


def _checked(constraint: Constraint, known: Collection[str]) -> Constraint:
    for name in constraint.names:
        if name not in known:
            have = ", ".join(known) or "none"
            raise usage_error(
                f"the constraint {constraint.sentence!r} reads {name!r}, which is no knob of the space",
                f"Its knobs: {have}.",
            )
    return constraint
