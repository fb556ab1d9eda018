"""The space of a sweep: axes, and the constraints between their values."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from lhkit.model.errors import usage_error
from lhkit.model.knob import KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.sweeps.axes import Axis, Facts, Narrowing, Point, knob_axes, payload_axis, payload_facts
from lhkit.sweeps.constraints import Constraint, Predicate, as_constraint
from lhkit.sweeps.space_plan import Count, Places, Plan
from lhkit.text.knob_text import requirements_of

# After so many draws in a row without a new point, sampling by rejection walks the points in order.
_MOST_MISSES = 2_000
_MOST_LISTED = 8


@dataclass(frozen=True)
class Space:
    """The points that a sweep may try.

    Its points are listed once and kept, so a space is best made once; hence no ``__slots__``.
    """

    axes: tuple[Axis, ...]
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for axis in self.axes:
            if not axis.values:
                raise usage_error(f"the axis {axis.name!r} has no values")
            for name in axis.columns():
                if name in seen:
                    raise usage_error(f"two axes of the space have the name {name!r}", "Rename one of them.")
                seen.add(name)

    @functools.cached_property
    def plan(self) -> Plan:
        """Its points, listed or drawn."""
        return Plan(self.axes, self.constraints)

    def count(self) -> Count:
        """Return how many points there are; exactly if ``is_exact``, else as an estimate with its interval."""
        return self.plan.count

    def points(self) -> Iterator[Point]:
        """Yield every point, in the order of a grid: the last axis changes first."""
        return map(self.point_of, self.plan.points())

    def shuffled(self, rng: Random) -> Iterator[Places]:
        """Yield every point once, in random order, as the places of values on their axes.

        Where points take too long to list, combinations are drawn and rejected; if next to none meets the
        constraints, the rest is taken in the order of a grid.
        """
        plan, total = self.plan, self.plan.total
        if plan.is_listed:
            yield from map(plan.candidate, _permuted(total, rng))
            return
        seen: set[Places] = set()
        misses = 0
        while total and misses < _MOST_MISSES:
            places = plan.candidate(rng.randrange(total))
            if places in seen or not plan.is_point(places):
                misses += 1
                continue
            misses = 0
            seen.add(places)
            yield places
        yield from (places for places in plan.points() if places not in seen)

    def point_of(self, places: Places) -> Point:
        """Return the point of the places of values on their axes."""
        return tuple((axis.name, axis.values[i]) for axis, i in zip(self.axes, places, strict=True))

    def places_of(self, point: Point) -> Places | None:
        """Return the places of a point's values on their axes, or None where it is of another space."""
        if [name for name, _ in point] != [axis.name for axis in self.axes]:
            return None
        found = [axis.index_of(value) for axis, (_, value) in zip(self.axes, point, strict=True)]
        return tuple(i for i in found if i is not None) if None not in found else None

    def nearest(self, values: Mapping[str, KnobValue] | None = None) -> Places | None:
        """Return the point nearest to values by axis, or defaults; None if there is none or it takes long."""
        wanted = {axis.name: axis.values[0] if axis.default is None else axis.default for axis in self.axes}
        wanted |= values or {}
        return self.plan.nearest([axis.nearest_first(wanted[axis.name]) for axis in self.axes])

    def why_empty(self) -> str | None:
        """Return which constraints leave no point, in a sentence, or None where there are points."""
        count = self.count()
        if count or not count.is_exact:
            return None
        core = list(self.constraints)
        for constraint in self.constraints:
            fewer = [c for c in core if c is not constraint]
            left = Space(self.axes, tuple(fewer)).count()
            if left.is_exact and not left:
                core = fewer
        if len(core) == 1:
            return f"no point meets {core[0].sentence!r}"
        listed = ", ".join(repr(c.sentence) for c in core[:-1]) + f" and {core[-1].sentence!r}"
        return f"no point meets {listed} together"


def space_of(
    schedule: Schedule,
    *,
    knobs: Mapping[str, Narrowing] | None = None,
    constraints: Sequence[str | Predicate | Constraint] = (),
    payload: Payload | Mapping[str, Payload] | None = None,
    function: str | None = None,
) -> Space:
    """Return the space of a schedule's knobs; knobs that are set keep their values unless narrowed.

    ``knobs`` narrows them: by a list, or a text such as ``4,8,16``, ``1..64``, ``8..256*2``. Constraints
    may name extents and dtypes of the payload (``arg0_dim0``, ``arg0_dtype``); several payloads are an axis.
    """
    axes = knob_axes(schedule, knobs or {})
    facts: Facts = ()
    if isinstance(payload, Mapping):
        axes = (payload_axis(payload, function), *axes)
    elif payload is not None:
        facts = payload_facts(payload, function)
    columns = [name for axis in axes for name in axis.columns()]
    fixed = {name: value for name, value in facts if name not in columns}
    known = [*columns, *fixed]
    # Knobs that no applied sequence has have no values, and nothing is required of them.
    required = [r for r in requirements_of(schedule) if set(r.names) <= set(known)]
    read = [as_constraint(each, known) for each in (*required, *constraints)]
    space = Space(axes, tuple(c.given(fixed) for c in read))
    if (why := space.why_empty()) is not None:
        given = ", ".join(f"{axis.name}: {_listed(axis.values)}" for axis in axes)
        advice = f"Its axes: {given}. Widen one, or drop a constraint."
        raise usage_error(f"the space is empty: {why}", advice)
    return space


def _permuted(total: int, rng: Random) -> Iterator[int]:
    """Yield the numbers below a total in random order; of them only those that changed places are kept."""
    moved: dict[int, int] = {}
    left = total
    while left:
        i = rng.randrange(left)
        left -= 1
        last = moved.pop(left, left)
        if i == left:
            yield last
        else:
            yield moved.get(i, i)
            moved[i] = last


def _listed(values: Sequence[KnobValue]) -> str:
    shown = ", ".join(map(str, values[:_MOST_LISTED]))
    return shown if len(values) <= _MOST_LISTED else f"{shown}, … ({len(values):,} values)"
