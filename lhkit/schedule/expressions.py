"""Expressions over knobs or facts of a target, as texts.

Arithmetic, comparisons, ``and``, ``or``, ``not``, ``A if CONDITION else B``, and a few functions.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import simpleeval

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.span import Span


def _divides(divisor: int, number: int) -> bool:
    return divisor != 0 and number % divisor == 0


FUNCTIONS: Mapping[str, Any] = {"abs": abs, "divides": _divides, "max": max, "min": min}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was read and whose names are known.

    Attributes:
        text: As it is written.
        names: The names in it that are no functions, sorted.
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.AST
    _evaluator: simpleeval.SimpleEval

    def holds(self, values: Mapping[str, KnobValue]) -> bool:
        """Return whether it is true of values, one for each of its names.

        Raises:
            ValueError: It cannot be evaluated, with the reason.
        """
        return bool(self.value(values))

    def value(self, values: Mapping[str, KnobValue]) -> Any:
        """Return what it is for values, one for each of its names.

        Raises:
            ValueError: It cannot be evaluated, with the reason.
        """
        self._evaluator.names = values
        try:
            return self._evaluator.eval(self.text, previously_parsed=self._tree)
        except (simpleeval.InvalidExpression, ArithmeticError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(str(error)) from None


def parse_expression(
    text: str, known: Collection[str], *, owner: str, at: Span, source: str, named: str = "knob"
) -> Expression:
    """Return the expression that a text is.

    Args:
        text: The expression.
        known: The names that it may use.
        owner: Whose names they are, for messages.
        at: Where the expression begins.
        source: The text that ``at`` points into.
        named: What a name stands for, for messages.

    Raises:
        UsageError: It is no expression, or uses an unknown name; with its place.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        place = Span(at.file, at.line, at.column + (error.offset or 1) - 1)
        raise usage_error(f"{text!r} is no expression", at=place, text=source) from None
    used = {node.id: node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in FUNCTIONS}
    for name, node in used.items():
        if name not in known:
            place = Span(at.file, at.line, at.column + node.col_offset)
            have = ", ".join(sorted(known)) or "none"
            raise usage_error(
                f"{owner} has no {named} {name!r}", f"Its {named}s: {have}.", at=place, text=source
            )
    return Expression(text, tuple(sorted(used)), tree, simpleeval.SimpleEval(functions=dict(FUNCTIONS)))
