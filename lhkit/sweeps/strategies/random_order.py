"""Random points without replacement, each set of them as likely as any other."""

from __future__ import annotations

from lhkit.sweeps.space_plan import Places
from lhkit.sweeps.strategies.strategy import Proposer


class RandomOrder(Proposer):
    """Random points without replacement."""

    def propose(self) -> Places | None:
        """Return a random point."""
        return self.draw()
