"""The space of a sweep: axes, constraints, and its points: by backtracking up to an effort, else drawn."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from lhkit.model.errors import UsageError, usage_error
from lhkit.model.knob import Knob, KnobValue
from lhkit.model.payload import Payload
from lhkit.model.schedule import Schedule
from lhkit.model.span import Span
from lhkit.sweeps.constraints import Constraint, Predicate, as_constraint, idle_knobs
from lhkit.text.knob_text import knob_conditions, requirements_of

# The axis of a sweep whose values are payloads.
PAYLOAD_AXIS = "payload"
# A value for every axis, in the order of the axes.
Point = tuple[tuple[str, KnobValue], ...]
# What constraints may name about one value of an axis.
Facts = tuple[tuple[str, KnobValue], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """One choice of a space; ``facts`` holds for each value what constraints may name beside it."""

    name: str
    values: tuple[KnobValue, ...]
    default: KnobValue | None = None
    facts: tuple[Facts, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """True if the values are numbers that ascend or descend, so that neighbours are alike."""
        numbers = numbers_in(self.values)
        orders = (sorted(numbers), sorted(numbers, reverse=True))
        return len(numbers) == len(self.values) and numbers in orders

    def index_of(self, value: KnobValue | None) -> int | None:
        """Return the place of a value, from 0, or None; ``True`` is not 1."""
        is_bool = isinstance(value, bool)
        alike = (i for i, v in enumerate(self.values) if v == value and isinstance(v, bool) == is_bool)
        return next(alike, None)

    def nearest_first(self, value: KnobValue) -> tuple[int, ...]:
        """Return the places of all values: the given one first, then by distance from it, then in order."""
        place, numbers, wanted = self.index_of(value), numbers_in(self.values), numbers_in([value])
        distances: list[float] = [i != place for i in range(len(self.values))]
        if wanted and len(numbers) == len(self.values):
            distances = [abs(v - wanted[0]) for v in numbers]
        return tuple(sorted(range(len(self.values)), key=distances.__getitem__))

    def columns(self) -> dict[str, tuple[KnobValue, ...]]:
        """Return what constraints may name: the axis itself and its facts, with one entry a value."""
        names = dict.fromkeys(n for facts in self.facts for n, _ in facts)
        return {self.name: self.values} | {n: tuple(dict(f)[n] for f in self.facts) for n in names}


def numbers_in(values: Sequence[KnobValue]) -> list[int | float]:
    """Return the values that are numbers, which Booleans are not."""
    return [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def payload_facts(payload: Payload, function: str | None = None) -> Facts:
    """Return what constraints may name of a payload: extents (``arg0_dim0``) and dtypes (``arg0_dtype``)."""
    chosen = payload.function(function)
    found: list[tuple[str, KnobValue]] = []
    for role, types in (("arg", chosen.arguments), ("result", chosen.results)):
        for i, type_ in enumerate(types):
            found += [(f"{role}{i}_dim{d}", n) for d, n in enumerate(type_.shape) if n is not None]
            found.append((f"{role}{i}_dtype", type_.dtype))
    return tuple(found)


def payload_axis(payloads: Mapping[str, Payload], function: str | None) -> Axis:
    """Return the axis whose values are payloads by name: of several shapes, or dtypes."""
    if not payloads:
        raise usage_error("the axis 'payload' has no payloads", "Give a dictionary of names and payloads.")
    each = [dict(payload_facts(p, function)) for p in payloads.values()]
    # An extent that only some of them have is no name that a constraint could use.
    common = [n for n in each[0] if all(n in facts for facts in each)]
    facts = tuple(tuple((n, own[n]) for n in common) for own in each)
    return Axis(PAYLOAD_AXIS, tuple(payloads), facts=facts)


Narrowing = str | KnobValue | Sequence[KnobValue]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})(?:\s*([*+])\s*({_NUMBER}))?")
# An axis with more values than this is a mistake in the range.
_MOST_VALUES = 10_000
_FORMS = "Write values with commas between them, or ranges: 4,8,16 or 1..64 or 8..256*2 or 16..64+16."


def knob_axes(schedule: Schedule, narrowed: Mapping[str, Narrowing]) -> tuple[Axis, ...]:
    """Return one axis for each knob that is applied, in the order of the schedule.

    A knob that was set, or that has a default and no end of values, stays at that value unless narrowed.
    """
    applied = schedule.applied_sequences
    knobs = {k.name: k for k in schedule.knobs if not k.sequences or applied.intersection(k.sequences)}
    for name in narrowed:
        if name in knobs:
            continue
        if any(k.name == name for k in schedule.knobs):
            message = f"knob {name!r} of {schedule.source} stands in no sequence that @{schedule.entry} enters"
            raise usage_error(message, "Choose another entry, or leave the knob out.")
        have = ", ".join(knobs) or "none"
        raise usage_error(f"{schedule.source} has no knob {name!r}", f"Its knobs: {have}.")
    return tuple(_axis(knob, narrowed.get(name), schedule) for name, knob in knobs.items())


def split_narrowings(arguments: Sequence[str]) -> dict[str, str]:
    """Parse texts like ``tile_m=4,8..64*2`` by knob; the values of a repeated knob are merged."""
    found: dict[str, str] = {}
    for argument in arguments:
        name, equals, values = argument.partition("=")
        if not equals or not name or not values:
            raise usage_error(f"--knob {argument}: expected NAME=V1,V2,…")
        found[name] = f"{found[name]},{values}" if name in found else values
    return found


def _axis(knob: Knob, narrowed: Narrowing | None, schedule: Schedule) -> Axis:
    settings = dict(schedule.settings)
    start = settings.get(knob.name, knob.default)
    if narrowed is not None:
        return Axis(knob.name, narrow(knob, narrowed), start)
    if knob.name in settings:
        return Axis(knob.name, (knob.check(settings[knob.name]),), start)
    default = () if knob.default is None else (knob.default,)
    values = knob.options or (knob.bounds.values() if knob.bounds is not None else ()) or default
    if not values:
        raise usage_error(
            f"knob {knob.name!r} of {schedule.source} has no list of values to sweep",
            f"It may be {knob.allowed()}. Narrow it: --knob {knob.name}=… on the command line, "
            f"knobs={{{knob.name!r}: …}} in Python. {_FORMS}",
            at=Span(schedule.source, knob.line, knob.column),
            text=schedule.text,
        )
    return Axis(knob.name, tuple(dict.fromkeys(values)), start)


def narrow(knob: Knob, narrowed: Narrowing) -> tuple[KnobValue, ...]:
    """Return the values that an argument leaves of a knob, none twice, in the order of the argument."""
    if isinstance(narrowed, str):
        found = [value for part in narrowed.split(",") for value in _read(knob, part.strip())]
    else:
        found = [knob.check(v) for v in ([narrowed] if isinstance(narrowed, int | float) else narrowed)]
    if not found:
        raise usage_error(f"{narrowed!r} leaves no value of knob {knob.name!r}", f"It may be {knob.allowed()}.")
    return tuple(dict.fromkeys(found))


def _read(knob: Knob, part: str) -> Iterator[KnobValue]:
    """Yield the values of one part of a text; a range leaves out what the knob does not allow."""
    match = _RANGE.fullmatch(part)
    if match is None:
        if ".." in part and part not in [str(o) for o in knob.options]:
            raise usage_error(f"{part!r} is not a range of knob {knob.name!r}", _FORMS)
        if not part and not knob.options:
            raise usage_error(f"an empty value for knob {knob.name!r}", _FORMS)
        yield knob.parse(part)
        return
    first, last = _number(match[1]), _number(match[2])
    if match[3] is None and knob.options:
        low, high = sorted((first, last))
        inside = [o for o in numbers_in(knob.options) if low <= o <= high]
        yield from inside if first <= last else reversed(inside)
        return
    step = _number(match[4]) if match[3] else 1
    for value in _steps(knob, part, first, last, match[3] or "+", step):
        with contextlib.suppress(UsageError):
            yield knob.check(value)


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _steps(knob: Knob, part: str, first: float, last: float, kind: str, step: float) -> Iterator[int | float]:
    grows = first > 0 and step > 1 if kind == "*" else step > 0
    if not grows or first > last:
        problem = "does not grow" if not grows else "runs backwards"
        raise usage_error(f"{part!r} {problem}, as a range of knob {knob.name!r}", _FORMS)
    # Counted from the first value: sums of fractions would miss the last one.
    later = (first * step**i if kind == "*" else first + i * step for i in itertools.count(1))
    for i, value in enumerate(itertools.takewhile(lambda v: v <= last, itertools.chain([first], later))):
        if i >= _MOST_VALUES:
            raise usage_error(f"{part!r} has more than {_MOST_VALUES:,} values of knob {knob.name!r}", _FORMS)
        yield value


# For every axis the index of a value.
Places = tuple[int, ...]
Fits = Callable[[list[int], int], bool]

# Values that a walk may try, some tenths of a second; a clock would make results differ from run to run.
_EFFORT = 100_000
# Results of a constraint are memoized if its scope has at most so many combinations.
_MOST_KEPT = 300_000
# An estimate draws until so many points were met, or so many were drawn.
_ENOUGH_MET = 200
_MOST_DRAWN = 6_000
# Quantile of the normal distribution for an interval of 99 %.
_QUANTILE = 2.576
UNBOUND = -1


class _TooMuchEffortError(Exception):
    pass


class Check:
    """A constraint on the values of axes by their indices."""

    def __init__(self, constraint: Constraint, axes: Sequence[Axis]) -> None:
        columns = {name: (i, column) for i, axis in enumerate(axes) for name, column in axis.columns().items()}
        self._reads = tuple((name, *columns[name]) for name in constraint.names)
        self._constraint = constraint
        self.scope = tuple(sorted({i for _, i, _ in self._reads}))
        self._is_memoized = math.prod(len(axes[i].values) for i in self.scope) <= _MOST_KEPT
        self._known: dict[Places, bool] = {}

    def holds(self, places: Sequence[int] | Mapping[int, int]) -> bool:
        """Return whether the values in the scope, by axis, meet the constraint."""
        key = tuple([places[i] for i in self.scope])
        known = self._known.get(key)
        if known is None:
            known = self._constraint.holds({name: column[places[i]] for name, i, column in self._reads})
            if self._is_memoized:
                self._known[key] = known
        return known


class Component:
    """Axes that constraints connect.

    Attributes:
        points: Their assignments in lexicographic order, or None if the walk exceeds the effort.
        size: How many there are; without ``points`` how many combinations.
    """

    def __init__(self, axes: Places, domains: Sequence[Places], checks: Sequence[Check]) -> None:
        self.axes = axes
        self.checks = tuple(checks)
        self._domains = domains
        # With the value of the last axis of its scope a constraint is decided.
        self._decided = {i: [c for c in checks if c.scope[-1] == i] for i in axes}
        self.points: list[Places] | None
        try:
            walked = _walk(axes, domains, _limited(self._holds), [UNBOUND] * len(domains))
            self.points = list(walked) if checks else [(place,) for place in domains[axes[0]]]
        except _TooMuchEffortError:
            self.points = None
        sizes = (len(domains[i]) for i in axes)
        self.size = math.prod(sizes) if self.points is None else len(self.points)

    def assignment(self, number: int) -> Places:
        """Return an assignment by its number; without ``points`` a combination that may break constraints."""
        if self.points is not None:
            return self.points[number]
        found = []
        for i in self.axes:
            number, own = divmod(number, len(self._domains[i]))
            found.append(self._domains[i][own])
        return tuple(found)

    def fits(self, places: list[int], axis: int) -> bool:
        """Return whether the values up to an axis can be completed (without ``points``: do not conflict)."""
        if self.points is None:
            return self._holds(places, axis)
        prefix = tuple([places[i] for i in self.axes if i <= axis])
        at = bisect_left(self.points, prefix)
        return at < len(self.points) and self.points[at][: len(prefix)] == prefix

    def _holds(self, places: list[int], axis: int) -> bool:
        return all(check.holds(places) for check in self._decided[axis])


class Count(int):
    """The number of points of a space: exact, or an estimate with a 99 % interval."""

    low: int
    high: int
    is_exact: bool

    def __new__(cls, value: int, low: int | None = None, high: int | None = None) -> Count:
        """Return the number with its interval."""
        made = super().__new__(cls, value)
        made.low = value if low is None else low
        made.high = value if high is None else high
        made.is_exact = low is None
        return made


class Plan:
    """The points of a space: listed component by component where walks are short, else drawn by rejection.

    Attributes:
        domains: For every axis the indices of the values that the constraints on it alone allow.
        total: How many candidates `candidate` numbers.
    """

    def __init__(self, axes: Sequence[Axis], constraints: Sequence[Constraint]) -> None:
        self._checks = [Check(c, axes) for c in constraints]
        self.domains = _domains(axes, [c for c in self._checks if len(c.scope) == 1])
        between = [c for c in self._checks if len(c.scope) > 1]
        groups = _connected(len(axes), [set(c.scope) for c in between])
        self._components = [
            Component(group, self.domains, [c for c in between if c.scope[0] in group]) for group in groups
        ]
        self._component_of = {i: component for component in self._components for i in component.axes}
        # Without axes there is one point, unless a constraint on constants forbids it.
        is_possible = all(c.holds(()) for c in self._checks if not c.scope)
        self.total = math.prod(c.size for c in self._components) if is_possible else 0
        self._unlisted = [c for c in self._components if c.points is None]
        self.is_listed = not self._unlisted

    @functools.cached_property
    def count(self) -> Count:
        """The number of points."""
        if self.is_listed or not self.total:
            return Count(self.total)
        rng, met, drawn = Random(0), 0, 0
        while drawn < _MOST_DRAWN and met < _ENOUGH_MET:
            drawn += 1
            met += self.is_point(self.candidate(rng.randrange(self.total)))
        low, high = _interval(met, drawn)
        return Count(self.total * met // drawn, math.floor(self.total * low), math.ceil(self.total * high))

    def candidate(self, number: int) -> Places:
        """Return the candidate of a number, from 0 and below the total."""
        places = [UNBOUND] * len(self.domains)
        for component in self._components:
            number, own = divmod(number, component.size)
            for i, place in zip(component.axes, component.assignment(own), strict=True):
                places[i] = place
        return tuple(places)

    def is_point(self, candidate: Places) -> bool:
        """Return whether a candidate meets the constraints that are not met by construction."""
        return all(check.holds(candidate) for component in self._unlisted for check in component.checks)

    def holds(self, places: Places) -> bool:
        """Return whether places meet every constraint."""
        return all(check.holds(places) for check in self._checks)

    def points(self) -> Iterator[Places]:
        """Yield the points in the order of a grid: the last axis changes first."""
        return self._ordered(self.domains, self._fits)

    def nearest(self, preferences: Sequence[Sequence[int]]) -> Places | None:
        """Return the point with the first allowed value of each axis in turn; None as for `Space.nearest`."""
        allowed = [set(domain) for domain in self.domains]
        orders = [[v for v in each if v in own] for each, own in zip(preferences, allowed, strict=True)]
        try:
            return next(self._ordered(orders, _limited(self._fits)), None)
        except _TooMuchEffortError:
            return None

    def _ordered(self, orders: Sequence[Sequence[int]], fits: Fits) -> Iterator[Places]:
        if self.total:
            yield from _walk(tuple(range(len(orders))), orders, fits, [UNBOUND] * len(orders))

    def _fits(self, places: list[int], axis: int) -> bool:
        return self._component_of[axis].fits(places, axis)


def _walk(axes: Places, orders: Sequence[Sequence[int]], fits: Fits, places: list[int]) -> Iterator[Places]:
    """Yield the assignments of axes by backtracking; the last axis changes first."""
    iterators = [iter(orders[axes[0]])] if axes else []
    if not axes:
        yield ()
    while iterators:
        axis = axes[len(iterators) - 1]
        value = next(iterators[-1], None)
        if value is None:
            iterators.pop()
            continue
        places[axis] = value
        if not fits(places, axis):
            continue
        if len(iterators) == len(axes):
            yield tuple([places[i] for i in axes])
        else:
            iterators.append(iter(orders[axes[len(iterators)]]))


def _limited(fits: Fits) -> Fits:
    """Return a function that raises `_TooMuchEffortError` after as many calls as the effort allows."""
    calls = itertools.count(1)

    def counted(places: list[int], axis: int) -> bool:
        if next(calls) > _EFFORT:
            raise _TooMuchEffortError
        return fits(places, axis)

    return counted


def _connected(count: int, scopes: Sequence[set[int]]) -> list[Places]:
    groups = [{i} for i in range(count)]
    for scope in scopes:
        joined = [g for g in groups if g & scope]
        groups = [g for g in groups if not g & scope] + [set().union(*joined)]
    return sorted(tuple(sorted(g)) for g in groups)


def _domains(axes: Sequence[Axis], alone: Sequence[Check]) -> tuple[Places, ...]:
    domains = []
    for i, axis in enumerate(axes):
        own = [check for check in alone if check.scope == (i,)]
        domains.append(tuple(v for v in range(len(axis.values)) if all(c.holds({i: v}) for c in own)))
    return tuple(domains)


def _interval(met: int, drawn: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    share, z2 = met / drawn, _QUANTILE**2
    centre = (share + z2 / (2 * drawn)) / (1 + z2 / drawn)
    half = _QUANTILE * math.sqrt(share * (1 - share) / drawn + z2 / (4 * drawn**2)) / (1 + z2 / drawn)
    return max(0.0, centre - half), min(1.0, centre + half)


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
    idle = {
        a.name: a.values[0] if a.index_of(a.default) is None else a.default for a in axes if len(a.values) > 1
    }
    read += [c for c in idle_knobs(knob_conditions(schedule), idle) if set(c.names) <= set(columns)]
    space = Space(axes, tuple(c.given(fixed) for c in read))
    if (why := space.why_empty()) is not None:
        given = ", ".join(f"{axis.name}: {_listed(axis.values)}" for axis in axes)
        advice = f"Its axes: {given}. Widen one, or drop a constraint."
        raise usage_error(f"the space is empty: {why}", advice)
    return space


def _permuted(total: int, rng: Random) -> Iterator[int]:
    """Yield the numbers below a total in random order; of them only those that changed places are kept."""
    moved: dict[int, int] = {}
    for left in reversed(range(total)):
        i = rng.randrange(left + 1)
        last = moved.pop(left, left)
        if i == left:
            yield last
        else:
            yield moved.get(i, i)
            moved[i] = last


def _listed(values: Sequence[KnobValue]) -> str:
    shown = ", ".join(map(str, values[:_MOST_LISTED]))
    return shown if len(values) <= _MOST_LISTED else f"{shown}, … ({len(values):,} values)"
