"""How a space is counted: all its constraints at once where that is quick, else some of them on every draw."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from random import Random

from lhkit.sweeps.axes import Axis
from lhkit.sweeps.constraints import Constraint
from lhkit.sweeps.counting import UNBOUND, Counter
from lhkit.sweeps.elimination import Check, Effort, TooMuchEffortError, forest_cost

Places = tuple[int, ...]

# What counting may take, in evaluations: some tenths of a second.
_EFFORT = 250_000
# An estimate draws until so many points were met, or so many were drawn.
_ENOUGH_MET = 200
_MOST_DRAWN = 6_000
# Quantile of the normal distribution for an interval of 99 %.
_QUANTILE = 2.576


class Count(int):
    """How many points a space has: exactly, or an estimate with the interval that covers it in 99 of 100 cases.

    Args:
        value: The number.
        low: The interval's lower end; without it the number is exact.
        high: The interval's upper end.
    """

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

    def describe(self) -> str:
        """Return it in words: ``1,024 points``, ``about 1.2e+09 points (estimated: 1.1e+09 to 1.3e+09)``."""
        if self.is_exact:
            return f"{int(self):,} point{'' if self == 1 else 's'}"
        if not self:
            return f"at most {self.high:.3g} points (estimated: no draw met the constraints)"
        return f"about {int(self):.3g} points (estimated: {self.low:.3g} to {self.high:.3g})"


class Plan:
    """The constraints of a space by when they are decided.

    Attributes:
        domains: For every axis the places of the values that the constraints on it alone leave.
        counter: What numbers the points that meet the constraints that can be counted quickly.
        residual: The constraints that would take too long to count.
    """

    def __init__(self, axes: Sequence[Axis], constraints: Sequence[Constraint]) -> None:
        checks = [Check(c, axes) for c in constraints]
        # Without axes there is one point, unless a constraint on constants forbids it.
        self._is_possible = all(c.holds(()) for c in checks if not c.scope)
        self.domains = _domains(axes, [c for c in checks if len(c.scope) == 1])
        between = [c for c in checks if len(c.scope) > 1]
        self.counter, self.residual = _choose(self.domains, between)
        self._checks = checks
        # The residual constraints by the last of their axes: with its value they are decided.
        self._decided = [[c for c in self.residual if c.scope[-1] == i] for i in range(len(axes))]

    @functools.cached_property
    def counted(self) -> int:
        """How many points meet the counted constraints."""
        return self.counter.count() if self._is_possible else 0

    @functools.cached_property
    def count(self) -> Count:
        """How many points there are."""
        counted = self.counted
        if not self.residual or not counted:
            return Count(counted)
        rng, met, drawn = Random(0), 0, 0
        while drawn < _MOST_DRAWN and met < _ENOUGH_MET:
            drawn += 1
            met += self.meets_residual(self.counter.point_at(rng.randrange(counted)))
        low, high = _interval(met, drawn)
        return Count(counted * met // drawn, math.floor(counted * low), math.ceil(counted * high))

    def holds(self, places: Places) -> bool:
        """Return whether a point meets every constraint."""
        return all(check.holds(places) for check in self._checks)

    def meets_residual(self, places: Places) -> bool:
        """Return whether a point that meets the counted constraints meets the others too."""
        return all(check.holds(places) for check in self.residual)

    def points(self) -> Iterator[Places]:
        """Yield the points in the order of a grid: the last axis changes first.

        A value is taken only if the counted constraints can be met with it and those before it.
        """
        if not self.domains:
            yield from [()] * self.counted
            return
        if not self.counted:
            return
        places = [UNBOUND] * len(self.domains)
        iterators = [iter(self.domains[0])]
        while iterators:
            depth = len(iterators) - 1
            value = next(iterators[-1], None)
            if value is None:
                places[depth] = UNBOUND
                iterators.pop()
                continue
            places[depth] = value
            if not self._may_stand(places, depth):
                continue
            if depth + 1 == len(places):
                yield tuple(places)
            else:
                iterators.append(iter(self.domains[depth + 1]))

    def nearest(self, preferences: Sequence[Sequence[int]]) -> Places | None:
        """Return the point that takes for each axis in turn the first value that the others allow.

        Args:
            preferences: For every axis the places of all its values, the preferred one first.

        Returns:
            None where there is no point, or where residual constraints forbid what this leads to.
        """
        if not self.counted:
            return None
        places = [UNBOUND] * len(self.domains)
        for depth, preferred in enumerate(preferences):
            possible = set(self.domains[depth])
            for value in preferred:
                places[depth] = value
                if value in possible and self._may_stand(places, depth):
                    break
            else:
                return None
        return tuple(places)

    def _may_stand(self, places: list[int], depth: int) -> bool:
        return self.counter.can_complete(places, depth) and all(c.holds(places) for c in self._decided[depth])


def _domains(axes: Sequence[Axis], alone: Sequence[Check]) -> tuple[Places, ...]:
    """Return what constraints on one axis leave of each."""
    places = [UNBOUND] * len(axes)
    domains = []
    for i, axis in enumerate(axes):
        own = [check for check in alone if check.scope == (i,)]
        left = []
        for value in range(len(axis.values)):
            places[i] = value
            if all(check.holds(places) for check in own):
                left.append(value)
        domains.append(tuple(left))
    return tuple(domains)


def _choose(domains: Sequence[Places], between: Sequence[Check]) -> tuple[Counter, tuple[Check, ...]]:
    """Return what counts as many constraints as can be counted quickly, and the constraints that are left."""
    counter = Counter(domains, between, Effort(_EFFORT))
    try:
        counter.count()
    except TooMuchEffortError:
        pass
    else:
        return counter, ()
    sizes = [len(d) for d in domains]
    kept, residual = list(between), []
    while kept and forest_cost(sizes, kept) > _EFFORT:
        widest = max(kept, key=lambda c: math.prod(sizes[i] for i in c.scope))
        kept.remove(widest)
        residual.append(widest)
    return Counter(domains, kept, Effort()), tuple(residual)


def _interval(met: int, drawn: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    share, z2 = met / drawn, _QUANTILE**2
    centre = (share + z2 / (2 * drawn)) / (1 + z2 / drawn)
    half = _QUANTILE * math.sqrt(share * (1 - share) / drawn + z2 / (4 * drawn**2)) / (1 + z2 / drawn)
    return max(0.0, centre - half), min(1.0, centre + half)
