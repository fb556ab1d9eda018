"""Every point in the order of the axes, the last one changing first."""

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
