"""The strategy protocol, the base class of strategies, and grid, random and Latin-hypercube orders."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol, runtime_checkable

from lhkit.model.errors import usage_error
from lhkit.sweeps.space import Places, Point, Space
from lhkit.worker.kernel_requests import VariantDescription

# If constraints forbid the wanted point, the nearest of so many random points is taken.
_POOL = 48


class Strategy(Protocol):
    """An order in which to try the points of a space."""

    def ask(self) -> Point | None:
        """Return the next point to try, or None where the budget is spent or no point is left."""

    def tell(self, point: Point, cost: float | None) -> None:
        """Take note of what a point costs; None where it failed."""


@runtime_checkable
class DescribedStrategy(Strategy, Protocol):
    """A strategy that looks at variants before they are lowered."""

    def to_describe(self) -> Sequence[Point]:
        """Return the points that it wants descriptions of before it is asked; most often none."""

    def take_descriptions(self, points: Sequence[Point], found: Sequence[VariantDescription | None]) -> None:
        """Take note of descriptions; None where there is none."""


def learns(strategy: Strategy) -> bool:
    """Return whether what a strategy asks for next may depend on what it was told of the points before."""
    return not isinstance(strategy, Proposer) or type(strategy).learn is not Proposer.learn


class Proposer(ABC):
    """A strategy that proposes valid points only, and none that it proposed or was told of before.

    The order follows from the space, the seed and the calls, in every process.
    """

    def __init__(self, space: Space, *, seed: int = 0, budget: int | None = None) -> None:
        if budget is not None and budget < 1:
            advice = "Give a positive number, or none for all of them."
            raise usage_error(f"a budget of {budget} variants", advice)
        self.space = space
        self.rng = Random(seed)
        self.seen: set[Places] = set()
        self._left = budget
        self._shuffled = space.shuffled(self.rng)
        self._pool: list[Places] = []

    @classmethod
    def require(cls) -> None:
        """Refuse a strategy of which something is not installed."""
        return

    def ask(self) -> Point | None:
        """Return the next point to try, or None where the budget is spent or no point is left."""
        if self._left == 0:
            return None
        places = self.propose()
        if places is None:
            return None
        self.seen.add(places)
        if self._left is not None:
            self._left -= 1
        return self.space.point_of(places)

    def tell(self, point: Point, cost: float | None) -> None:
        """Take note of what a point costs; None where it failed. It may be one that was not asked for."""
        places = self.space.places_of(point)
        if places is None:
            shown = ", ".join(f"{name}={value}" for name, value in point)
            axes = ", ".join(axis.name for axis in self.space.axes)
            raise usage_error(f"{shown} is not a point of the space", f"Its axes, in this order: {axes}.")
        self.seen.add(places)
        self.learn(places, cost)

    @abstractmethod
    def propose(self) -> Places | None:
        """Return a valid point that was not seen, or None where there is none left."""

    def learn(self, places: Places, cost: float | None) -> None:  # noqa: B027 - some orders need no costs
        """Take note of what a point costs; None where it failed."""

    def is_new(self, places: Places) -> bool:
        """Return whether a point is valid and was not seen."""
        return places not in self.seen and self.space.plan.holds(places)

    def draw(self) -> Places | None:
        """Return a random point that was not seen, or None where there is none left."""
        while self._pool:
            places = self._pool.pop()
            if places not in self.seen:
                return places
        return next((places for places in self._shuffled if places not in self.seen), None)

    def draw_best(self, score: Callable[[Places], float]) -> Places | None:
        """Return the one with the highest score of some random points that were not seen; None: none left."""
        self._pool = [places for places in self._pool if places not in self.seen]
        fresh = (places for places in self._shuffled if places not in self.seen)
        self._pool += itertools.islice(fresh, _POOL - len(self._pool))
        if not self._pool:
            return None
        best = max(self._pool, key=score)
        self._pool.remove(best)
        return best


class Grid(Proposer):
    """Every point in order."""

    def __init__(self, space: Space, *, seed: int = 0, budget: int | None = None) -> None:
        super().__init__(space, seed=seed, budget=budget)
        self._points = space.plan.points()

    def propose(self) -> Places | None:
        """Return the next point."""
        return next((places for places in self._points if places not in self.seen), None)


class RandomOrder(Proposer):
    """Random points without replacement."""

    propose = Proposer.draw


# So many combinations of the remaining values are tried.
_TRIES = 32


class LatinHypercube(Proposer):
    """A hypercube of as many points as the budget; without a budget, one of the longest axis after another."""

    def __init__(self, space: Space, *, seed: int = 0, budget: int | None = None) -> None:
        super().__init__(space, seed=seed, budget=budget)
        count = space.count()
        longest = max((len(domain) for domain in space.plan.domains), default=1)
        wanted = longest if budget is None else budget
        self._size = min(wanted, int(count)) if count.is_exact else wanted
        self._remaining: list[list[int]] = []

    def propose(self) -> Places | None:
        """Return a point of values that were taken least."""
        if not self._remaining or not self._remaining[0]:
            self._remaining = self._strata()
        for _ in range(_TRIES):
            chosen = tuple(own[self.rng.randrange(len(own))] for own in self._remaining if own)
            if len(chosen) == len(self.space.axes) and self.is_new(chosen):
                return self._take(chosen)
        remaining = [set(own) for own in self._remaining]
        best = self.draw_best(lambda places: sum(i in own for i, own in zip(places, remaining, strict=True)))
        return None if best is None else self._take(best)

    def _strata(self) -> list[list[int]]:
        """Return for every axis one value from each of as many equal parts as the hypercube has points."""
        n = self._size
        return [
            [domain[int((part + self.rng.random()) * len(domain) / n)] for part in range(n)] if domain else []
            for domain in self.space.plan.domains
        ]

    def _take(self, places: Places) -> Places:
        for place, own in zip(places, self._remaining, strict=True):
            # A value that is used up is replaced by another one: every axis gives one up for each point.
            own.pop(own.index(place) if place in own else self.rng.randrange(len(own)))
        return places
