"""Axes of a space: the knobs of a schedule, and payloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.signature import ArrayType

# A value for every axis, in the order of the axes.
Point = tuple[tuple[str, KnobValue], ...]
# What constraints may name about one value of an axis.
Facts = tuple[tuple[str, KnobValue], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One choice of a space.

    Attributes:
        name: The knob's name, or what the choice of a payload is called.
        values: The values, none twice, in the order in which a grid takes them.
        default: Where a search begins; None: at the first value.
        facts: For each value what constraints may name beside it (extents and dtypes of payloads), or empty.
        payloads: For each value the payload that it names, or empty.
    """

    name: str
    values: tuple[KnobValue, ...]
    default: KnobValue | None = None
    facts: tuple[Facts, ...] = ()
    payloads: tuple[Payload, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """True if the values are numbers that ascend or descend, so that neighbours are alike."""
        numbers = _numbers(self.values)
        return len(numbers) == len(self.values) and (
            numbers == sorted(numbers) or numbers == sorted(numbers, reverse=True)
        )

    def index_of(self, value: KnobValue) -> int | None:
        """Return the place of a value, from 0, or None; ``True`` is not 1."""
        for i, own in enumerate(self.values):
            if own == value and isinstance(own, bool) == isinstance(value, bool):
                return i
        return None

    def nearest_first(self, value: KnobValue) -> tuple[int, ...]:
        """Return the places of all values: the given one first, then by distance from it, then in order."""
        place = self.index_of(value)
        numbers, wanted = _numbers(self.values), _numbers([value])
        if wanted and len(numbers) == len(self.values):
            apart = [abs(v - wanted[0]) for v in numbers]
            return tuple(sorted(range(len(self.values)), key=lambda i: (apart[i], i)))
        return tuple(sorted(range(len(self.values)), key=lambda i: (i != place, i)))

    def columns(self) -> dict[str, tuple[KnobValue, ...]]:
        """Return what constraints may name: the axis itself and its facts, with one entry a value."""
        found = {self.name: self.values}
        for name in dict.fromkeys(n for facts in self.facts for n, _ in facts):
            found[name] = tuple(dict(facts)[name] for facts in self.facts)
        return found

    def payload(self, value: KnobValue) -> Payload | None:
        """Return the payload that a value names, or None on an axis of a knob."""
        place = self.index_of(value)
        return self.payloads[place] if self.payloads and place is not None else None


def _numbers(values: Sequence[KnobValue]) -> list[int | float]:
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def payload_facts(payload: Payload, function: str | None = None) -> Facts:
    """Return what constraints may name about a payload.

    Returns:
        ``arg0_dim0``, ``arg0_dtype``, ``result0_dim1`` and so on: the extents that are known, and the dtypes,
        of the arguments and results of its function.

    Raises:
        UsageError: There is no such function, or the choice is not clear.
    """
    chosen = payload.function(function)
    return (*_facts_of("arg", chosen.arguments), *_facts_of("result", chosen.results))


def _facts_of(role: str, types: tuple[ArrayType, ...]) -> Facts:
    found: list[tuple[str, KnobValue]] = []
    for i, type_ in enumerate(types):
        found += [(f"{role}{i}_dim{d}", n) for d, n in enumerate(type_.shape) if n is not None]
        found.append((f"{role}{i}_dtype", type_.dtype))
    return tuple(found)


def payload_axis(
    payloads: Mapping[str, Payload], *, name: str = "payload", function: str | None = None
) -> Axis:
    """Return the axis whose values are payloads by name: of several shapes, or dtypes.

    Args:
        payloads: The payloads by the names that stand in the results.
        name: What the axis is called.
        function: The function that constraints may name extents of, where there are several.

    Raises:
        UsageError: There are none, or the choice of the function is not clear.
    """
    if not payloads:
        raise usage_error(f"the axis {name!r} has no payloads", "Give a dictionary of names and payloads.")
    each = [dict(payload_facts(p, function)) for p in payloads.values()]
    # An extent that only some of them have is no name that a constraint could use.
    common = [n for n in each[0] if all(n in facts for facts in each)]
    return Axis(
        name,
        tuple(payloads),
        facts=tuple(tuple((n, facts[n]) for n in common) for facts in each),
        payloads=tuple(payloads.values()),
    )
