"""Coordinate descent: one axis after another, from the defaults, then again from random points."""

from __future__ import annotations

import math
from collections import deque

from lhkit.sweeps.space import Places, Space
from lhkit.sweeps.strategies.strategy import Proposer

# Axes with more values are searched at doubling distances from the current point.
_SHORT = 8


class CoordinateDescent(Proposer):
    """The best value of one axis, the others kept; the next axis; until no axis makes a difference.

    Asked again before it was told of all points of a line, it proposes random points.
    """

    def __init__(self, space: Space, *, seed: int = 0, budget: int | None = None) -> None:
        super().__init__(space, seed=seed, budget=budget)
        self._costs: dict[Places, float] = {}
        self._waiting: set[Places] = set()
        self._line: tuple[Places, ...] = ()
        self._to_ask: deque[Places] = deque()
        self._here: Places | None = None
        self._started = False
        self._axis = 0
        self._unchanged = 0

    def learn(self, places: Places, cost: float | None) -> None:
        """Take note of a cost; a failure costs more than anything."""
        self._costs[places] = math.inf if cost is None else cost
        self._waiting.discard(places)

    def propose(self) -> Places | None:
        """Return the next point of the line, of the next line, or of the next start."""
        while True:
            if self._here is None:
                start = self._start()
                if start is None:
                    return None
                if start not in self.seen:
                    self._waiting.add(start)
                    return start
            while self._to_ask:
                places = self._to_ask.popleft()
                if places not in self.seen:
                    self._waiting.add(places)
                    return places
            if self._waiting:
                return self.draw()
            self._advance()

    def _start(self) -> Places | None:
        start = None if self._started else self.space.nearest()
        self._started = True
        self._here = self.draw() if start is None else start
        self._line, self._axis, self._unchanged = (), 0, 0
        return self._here

    def _advance(self) -> None:
        here = self._here
        if here is None:
            return
        best = min((p for p in self._line if p in self._costs), key=lambda p: self._costs[p], default=here)
        if self._costs.get(best, math.inf) < self._costs.get(here, math.inf):
            self._here = here = best
            self._unchanged = 0
        elif self._line:
            self._unchanged += 1
        if self._unchanged >= len(self.space.axes):
            self._here = None
            return
        self._line = self._along(here, self._axis)
        self._to_ask = deque(self._line)
        self._axis = (self._axis + 1) % len(self.space.axes)

    def _along(self, here: Places, axis: int) -> tuple[Places, ...]:
        """Return the valid points that differ from one in an axis, the nearest first."""
        domain = self.space.plan.domains[axis]
        place = domain.index(here[axis])
        apart = sorted(range(len(domain)), key=lambda i: (abs(i - place), i))[1:]
        if len(domain) > _SHORT and self.space.axes[axis].is_ordered:
            apart = [i for i in apart if abs(i - place).bit_count() == 1]
        line = [(*here[:axis], domain[i], *here[axis + 1 :]) for i in apart]
        return tuple(places for places in line if self.space.plan.holds(places))
