"""Grid, random and Latin-hypercube orders."""

from __future__ import annotations

from lhkit.sweeps.space import Space
from lhkit.sweeps.space_plan import Places
from lhkit.sweeps.strategies.strategy import Proposer


class Grid(Proposer):
    """Every point in order."""

    def __init__(self, space: Space, *, seed: int = 0, budget: int | None = None) -> None:
        super().__init__(space, seed=seed, budget=budget)
        self._points = space.plan.points()

    def propose(self) -> Places | None:
        """Return the next point."""
        return next((places for places in self._points if places not in self.seen), None)


# Random points without replacement, each set of them as likely as any other.


class RandomOrder(Proposer):
    """Random points without replacement."""

    def propose(self) -> Places | None:
        """Return a random point."""
        return self.draw()


# Latin hypercubes: the values of every axis are taken equally often.


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
