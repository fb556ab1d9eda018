"""Knobs: the named choices that a schedule leaves open."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.span import Span
from lhkit.model.step_form import quoted

KnobValue = int | float | bool | str

# The knob that says on how many threads a kernel runs its parallel loops (``scf.forall``); without it, on one.
THREADS_KNOB = "threads"


# A range with more values than this is not listed.
_MOST_VALUES = 10_000
# Divisors of greater numbers are not enumerated, unless the bounds leave few values.
_MOST_FACTORED = 10**10
# The longest list in a message.
_MOST_LISTED = 24


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of an integer knob, for options that are a dictionary."""

    lower_bound: int | None = None
    upper_bound: int | None = None
    divisible_by: int | None = None
    divides: int | None = None  # What every value divides (an extent, most often), or None

    def allows(self, value: KnobValue) -> bool:
        """Return True if a value is within the bounds."""
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return (
            (self.lower_bound is None or value >= self.lower_bound)
            and (self.upper_bound is None or value <= self.upper_bound)
            and (self.divisible_by is None or value % self.divisible_by == 0)
            and (self.divides is None or (value > 0 and self.divides % value == 0))
        )

    def values(self) -> tuple[int, ...]:
        """Return the allowed values in ascending order; empty where there is no end of them, or too many."""
        if self.divides is not None and 0 < self.divides <= _MOST_FACTORED:
            low = [v for v in range(1, math.isqrt(self.divides) + 1) if self.divides % v == 0]
            return tuple(v for v in sorted({*low, *(self.divides // v for v in low)}) if self.allows(v))
        least = self.lower_bound if self.divides is None else max(1, self.lower_bound or 1)
        most = self.upper_bound if self.divides is None else min(self.divides, self.upper_bound or self.divides)
        if least is None or most is None:
            return ()
        step = abs(self.divisible_by or 1)
        first = -(-least // step) * step
        if (most - first) // step >= _MOST_VALUES:
            return ()
        return tuple(v for v in range(first, most + 1, step) if self.allows(v))

    def describe(self) -> str:
        """Return the bounds in words: ``at least 4, at most 64, a divisor of 512``."""
        parts = (
            (self.lower_bound, "at least {}"),
            (self.upper_bound, "at most {}"),
            (self.divisible_by, "a multiple of {}"),
            (self.divides, "a divisor of {}"),
        )
        return ", ".join(words.format(n) for n, words in parts if n is not None) or "any integer"


@dataclass(frozen=True, slots=True)
class Knob:
    """A ``transform.tune.knob`` (or ``tune.alternatives``, whose values are region numbers)."""

    name: str  # Its name in the schedule
    # The allowed values in the order of the schedule; empty where they are not a list
    options: tuple[KnobValue, ...]
    default: KnobValue | None  # The value it has when none is set, or None where one must be set
    line: int  # Line of its definition, from 1
    column: int = 1  # Column of its definition, from 1
    sequences: tuple[str, ...] = ()  # The named sequences that contain it; one name may be in several
    # What it allows where its options are no list; ``options`` lists the values if they have an end
    bounds: Bounds | None = None

    def parse(self, text: str) -> KnobValue:
        """Return the value that ``text`` spells, as in ``--set NAME=TEXT``, or raise a UsageError."""
        for option in self.options:
            if _spell(option) == text.strip():
                return option
        if self.options:
            raise self._no_such_value(text)
        for cast in (int, float):
            try:
                return self.check(cast(text))
            except ValueError:
                continue
        return self.check(text)

    def check(self, value: KnobValue) -> KnobValue:
        """Return ``value`` if the knob allows it, else raise a UsageError."""
        matches = [o for o in self.options if o == value and isinstance(o, bool) == isinstance(value, bool)]
        is_outside = self.bounds is not None and not self.bounds.allows(value)
        if not matches and (self.options or is_outside):
            raise self._no_such_value(_spell(value))
        return matches[0] if matches else value

    def _no_such_value(self, text: str) -> UsageError:
        return usage_error(f"knob {self.name!r} cannot be {text!r}", f"It may be {self.allowed()}.")

    def allowed(self) -> str:
        """Return what it allows, in words."""
        listed = ", ".join(_spell(o) for o in self.options)
        if self.bounds is None:
            return f"one of {listed}" if listed else "any value"
        described = self.bounds.describe()
        return f"{described} ({listed})" if 0 < len(self.options) <= _MOST_LISTED else described


def parse_settings(knobs: Sequence[Knob], settings: Sequence[str]) -> dict[str, KnobValue]:
    """Return the values that texts like ``tile_m=8`` set; names of no knob are left to who sets them."""
    known = {knob.name: knob for knob in knobs}
    values: dict[str, KnobValue] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise usage_error(f"--set {setting}: expected KNOB=VALUE")
        if name in values:
            raise usage_error(f"--set {setting}: {name} is set twice", "Give it one value.")
        values[name] = known[name].parse(text) if name in known else text
    return values


def _spell(value: KnobValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def attribute_text(value: KnobValue) -> str:
    """Return a value as an attribute of transform IR: ``8 : i64``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value} : i64"
    return f"{value:e} : f64" if isinstance(value, float) else quoted(value)


def resolve_knobs(
    knobs: tuple[Knob, ...],
    settings: Mapping[str, KnobValue],
    *,
    source: str,
    text: str = "",
    applied: Container[str] | None = None,
) -> dict[str, KnobValue]:
    """Return a value for every knob: the one set, else its default."""
    known = {knob.name: knob for knob in knobs}
    for name in settings:
        if name not in known:
            have = ", ".join(known) or "none"
            raise usage_error(f"{source} has no knob {name!r}", f"Its knobs: {have}.")
    resolved: dict[str, KnobValue] = {}
    for name, knob in known.items():
        value = settings.get(name, knob.default)
        if value is not None:
            resolved[name] = knob.check(value)
        elif applied is None or not knob.sequences or any(s in applied for s in knob.sequences):
            raise usage_error(
                f"knob {name!r} of {source} has no default and was not set",
                f"Set it: --set {name}=VALUE on the command line, knobs={{{name!r}: …}} in Python. "
                f"It may be {knob.allowed()}.",
                at=Span(source, knob.line, knob.column),
                text=text,
            )
    return resolved
